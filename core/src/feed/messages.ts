import * as z from 'zod/mini';

/*
 * The feed: lines of JSON, two ways, between the operator and each router and runtime. The operator sends a snapshot,
 * then changes and heartbeats; the others send reports. zod/mini, because the runtime reads them and full zod costs it
 * 13 MiB.
 */

/** Seconds between heartbeats; a client that receives nothing for three of them reconnects. */
export const HEARTBEAT_SECONDS = 2;

const address = z.union([z.strictObject({ path: z.string() }), z.strictObject({ host: z.string(), port: z.int() })]);

/** An instance that takes calls. */
const routerInstanceSchema = z.strictObject({
  id: z.string(),
  revision: z.string(),
  address,
  /** Proves to the runtime that a call comes from a router (S2). */
  token: z.string(),
});
export type RouterInstance = z.infer<typeof routerInstanceSchema>;

/** An enabled function that holds its route, as the router knows it. */
export const routerFunctionSchema = z.strictObject({
  /** `metadata.name`. */
  id: z.string(),
  namespace: z.string(),
  /** The route pattern. */
  route: z.string(),
  methods: z.array(z.string()),
  /** Ids of the key groups that may call; null: anybody. */
  keyGroups: z.nullable(z.array(z.string())),
  cors: z.nullable(
    z.strictObject({
      origins: z.array(z.string()),
      credentials: z.boolean(),
      /** Seconds. */
      maxAge: z.int(),
      allowHeaders: z.array(z.string()),
      exposeHeaders: z.array(z.string()),
    }),
  ),
  timeoutMs: z.int(),
  maxRequestBytes: z.int(),
  maxConcurrency: z.nullable(z.int()),
  /** The revision that answers calls; null if no revision ever worked. */
  revision: z.nullable(z.string()),
  instances: z.array(routerInstanceSchema),
  /** Why no revision of the function ever worked: the answer to its calls. */
  failure: z.nullable(
    z.strictObject({
      code: z.enum(['handler_not_found', 'handler_syntax_error', 'handler_export_error', 'handler_load_error']),
      /** The message for callers; empty where they get only the code. */
      message: z.string(),
    }),
  ),
});
export type RouterFunction = z.infer<typeof routerFunctionSchema>;

/** An API key, including one that is not valid at present: its value must reach no handler (R6). */
const routerKeySchema = z.strictObject({
  /** HMAC-SHA256 of the value under the digest key, base64url. The router never has the value. */
  digest: z.string(),
  id: z.string(),
  /** The key's display name. */
  name: z.string(),
  groupId: z.string(),
  groupName: z.string(),
  /** Milliseconds since 1970 UTC; 0 of a disabled key. */
  expiresAt: z.nullable(z.number()),
  /** Of the key and of its group, all of which apply; absent: no limits. */
  limits: z.optional(
    z.array(
      z.strictObject({
        /** `key/<id>` or `group/<id>`: keys with the same one share the limit. */
        holder: z.string(),
        rate: z.optional(z.strictObject({ requestsPerSecond: z.int(), burst: z.int() })),
        dailyQuota: z.optional(z.int()),
      }),
    ),
  ),
});
export type KeyLimit = NonNullable<RouterKey['limits']>[number];
export type RouterKey = z.infer<typeof routerKeySchema>;

/**
 * The first message on a connection that was made over the network: who the client is. A router authenticates with its
 * client certificate; a runtime authenticates as a function with its token, and the operator takes the rest from the
 * pod. On one machine a connection is inherited, and no such message is sent.
 */
export const helloSchema = z.discriminatedUnion('role', [
  z.strictObject({
    type: z.literal('hello'),
    role: z.literal('router'),
    /** Name of its pod. */
    instance: z.string(),
    /**
     * Version of the newest state that it has applied, "0" for none: it is never sent an older one. An integer, so that
     * it can be compared.
     */
    resourceVersion: z.string().check(z.regex(/^\d{1,40}$/)),
    /** How often the store had been restored by then; absent means never. */
    restores: z.optional(z.int()),
  }),
  z.strictObject({
    type: z.literal('hello'),
    role: z.literal('runtime'),
    /** Name of its pod. */
    instance: z.string(),
    workload: z.string(),
    functionUid: z.string(),
    token: z.string(),
  }),
]);
export type Hello = z.infer<typeof helloSchema>;

/** How log entries are sent up: as soon as there are so many, and none later than so long after it was made. */
const logBatchSchema = z.strictObject({
  maxEntries: z.int().check(z.gte(1), z.lte(500)),
  maxDelayMs: z.int().check(z.gte(1)),
});
export type LogBatching = z.infer<typeof logBatchSchema>;
/** Where a message has none: the defaults of the settings, so that clients of earlier versions understand it. */
export const DEFAULT_LOG_BATCH: LogBatching = { maxEntries: 50, maxDelayMs: 50 };

const routerSettings = z.strictObject({
  logLevel: z.string(),
  logBatch: z.optional(logBatchSchema),
  /** How often metrics of executions are sent; absent: the default, so that routers of earlier versions understand it. */
  metricsIntervalSeconds: z.optional(z.int().check(z.gte(1))),
});

const calls = z.int().check(z.gte(0));

/** What a router reports of limits: see `LimitReport`. */
export const limitReportSchema = z.strictObject({
  router: z.string().check(z.maxLength(64)),
  limits: z.record(
    z.string().check(z.maxLength(128)),
    z.strictObject({
      rate: z.optional(
        z.strictObject({ offered: calls, requestsPerSecond: z.int().check(z.gte(1)), burst: z.int().check(z.gte(1)) }),
      ),
      quota: z.optional(z.strictObject({ daily: calls, wanted: calls, returned: calls, owed: calls, day: calls })),
    }),
  ),
});

/** Down to a router: its state. `version` counts the operator's states and never goes back within an `epoch`. */
export const routerDownSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('snapshot'),
    epoch: z.string(),
    version: z.int(),
    /** The newest resourceVersion that the state reflects. */
    resourceVersion: z.string(),
    /**
     * How often the store was restored from a backup; absent means never. resourceVersions compare within one count: a
     * state of a higher one is newer, whatever its resourceVersion.
     */
    restores: z.optional(z.int()),
    /** base64url; HMAC key of the keys' digests. */
    digestKey: z.string(),
    settings: routerSettings,
    functions: z.array(routerFunctionSchema),
    keys: z.array(routerKeySchema),
  }),
  /** Applied as a whole, in one step. */
  z.strictObject({
    type: z.literal('change'),
    version: z.int(),
    resourceVersion: z.string(),
    settings: z.optional(routerSettings),
    functions: z.optional(z.array(routerFunctionSchema)),
    removedFunctions: z.optional(z.array(z.string())),
    keys: z.optional(z.array(routerKeySchema)),
    /** Digests. */
    removedKeys: z.optional(z.array(z.string())),
  }),
  z.strictObject({ type: z.literal('heartbeat'), version: z.int(), resourceVersion: z.string() }),
]);
export type RouterDown = z.infer<typeof routerDownSchema>;

/** Down to a router, beside its state: the batch of metrics of this sequence is stored, and the next one may follow. */
const routerStoredSchema = z.strictObject({ type: z.literal('stored'), sequence: z.int() });
export type RouterStored = z.infer<typeof routerStoredSchema>;
/**
 * Down to a router, the answer to its own report of limits: its share of each, until the next one. It is no part of the
 * state.
 */
const limitsDownSchema = z.strictObject({
  type: z.literal('limits'),
  routers: z.int(),
  limits: z.record(
    z.string(),
    z.strictObject({
      rate: z.optional(z.strictObject({ share: z.number(), bonus: z.number() })),
      quota: z.optional(z.strictObject({ day: z.int(), granted: z.int(), left: z.int() })),
    }),
  ),
});
export type LimitsDown = z.infer<typeof limitsDownSchema>;
/** Whatever comes down to a router. */
export const routerMessageSchema = z.discriminatedUnion('type', [
  routerDownSchema,
  routerStoredSchema,
  limitsDownSchema,
]);

/** Dropped entries that one message may report; a sender with more reports the rest in its next one. */
export const MAX_DROPPED = 1_000_000;
/** Entries that a runtime keeps while they wait: it cannot announce more. */
export const MAX_FOLLOWING = 10_000;

const droppedEntries = z.int().check(z.gte(0), z.lte(MAX_DROPPED));
const logEntry = z.strictObject({
  functionName: z.string(),
  requestId: z.string(),
  level: z.string(),
  message: z.string(),
  args: z.nullable(z.string()),
  sequence: z.int(),
  timestamp: z.number(),
});

/** Cells of one batch of metrics: about a megabyte at most. */
export const MAX_METRICS = 500;
const count = z.int().check(z.gte(0));
const executionMetrics = z.strictObject({
  functionName: z.string(),
  minute: count,
  count,
  errors: count,
  sumUs: count,
  maxUs: count,
  bins: z.array(z.int()),
});

/** Up from a router. */
export const routerUpSchema = z.discriminatedUnion('type', [
  /**
   * On one machine only, the first message: that it listens on the function port, or why it cannot, after which it
   * exits with code 1.
   */
  z.strictObject({ type: z.literal('listening'), port: z.int() }),
  z.strictObject({ type: z.literal('failed'), message: z.string() }),
  /** It has applied this version; also its answer to each heartbeat, which shows the operator that it is alive. */
  z.strictObject({ type: z.literal('applied'), version: z.int() }),
  /** Calls in flight and waiting by function; at once when a call begins to wait, else each second when it differs. */
  z.strictObject({
    type: z.literal('demand'),
    functions: z.record(z.string(), z.strictObject({ inFlight: z.int(), waiting: z.int() })),
  }),
  /** Log entries, and how many were dropped since the last message of these. */
  z.strictObject({ type: z.literal('logs'), entries: z.array(logEntry), dropped: droppedEntries }),
  /** When each key last authenticated a call, by its id, in milliseconds since 1970 UTC: keys used since the last one. */
  z.strictObject({ type: z.literal('key-uses'), uses: z.record(z.string(), z.number().check(z.gte(0))) }),
  /** Executions since the last batch; sent again until `stored` answers it. */
  z.strictObject({
    type: z.literal('metrics'),
    sender: z.uuid(),
    sequence: z.int().check(z.gte(1)),
    metrics: z.array(executionMetrics).check(z.maxLength(MAX_METRICS)),
  }),
  /** Calls of limited keys, about once a second; at once where a call waits for its quota. The answer is `limits`. */
  z.strictObject({ type: z.literal('limits'), report: limitReportSchema }),
]);
export type RouterUp = z.infer<typeof routerUpSchema>;

/** What a runtime gives its handler of the function. */
const runtimeFunctionSchema = z.strictObject({
  id: z.string(),
  namespace: z.string(),
  name: z.string(),
  description: z.nullable(z.string()),
  handler: z.string(),
  route: z.string(),
  methods: z.array(z.string()),
  keyGroups: z.nullable(z.array(z.string())),
  debug: z.boolean(),
});
export type RuntimeFunction = z.infer<typeof runtimeFunctionSchema>;

/** A secret that this function may read: its scope, and for scopes group and key, its owner. */
const runtimeSecretSchema = z.strictObject({
  name: z.string(),
  value: z.string(),
  scope: z.enum(['global', 'function', 'group', 'key']),
  /** Id of the group or key. */
  owner: z.nullable(z.string()),
});
export type RuntimeSecret = z.infer<typeof runtimeSecretSchema>;

const runtimeState = z.strictObject({
  function: runtimeFunctionSchema,
  settings: z.strictObject({ logLevel: z.string(), logBatch: z.optional(logBatchSchema) }),
  secrets: z.array(runtimeSecretSchema),
});
export type RuntimeState = z.infer<typeof runtimeState>;

/** Down to a runtime. */
export const runtimeDownSchema = z.discriminatedUnion('type', [
  /**
   * First on a connection: what this process is for. It loads the artifact, listens, and reports. One that connects
   * again is sent `start` again, takes the state and the token alone, and reports again.
   */
  z.strictObject({
    type: z.literal('start'),
    revision: z.string(),
    /** The artifact: one ES module with its inline source map. Its SHA-256 is the revision (B4). */
    artifact: z.string(),
    invocationToken: z.string(),
    /** Where to listen. */
    listen: address,
    state: runtimeState,
  }),
  /** What may change while it runs. */
  z.strictObject({ type: z.literal('state'), state: runtimeState }),
  z.strictObject({ type: z.literal('heartbeat') }),
]);
export type RuntimeDown = z.infer<typeof runtimeDownSchema>;

/** Up from a runtime. */
export const runtimeUpSchema = z.discriminatedUnion('type', [
  /** It takes calls at this address. */
  z.strictObject({ type: z.literal('loaded'), address }),
  /** Its code cannot be loaded; it exits after this message. */
  z.strictObject({ type: z.literal('failed'), reason: z.enum(['ExportError', 'LoadError']), message: z.string() }),
  /** Its answer to each heartbeat: a runtime whose event loop is blocked does not answer, and is killed (S3). */
  z.strictObject({ type: z.literal('alive') }),
  z.strictObject({
    type: z.literal('logs'),
    entries: z.array(logEntry),
    /** Since the last message of this kind. */
    dropped: droppedEntries,
    /** Once a process ends: how many entries follow on this connection. Those that do not arrive were lost. */
    following: z.optional(z.int().check(z.gte(0), z.lte(MAX_FOLLOWING))),
  }),
]);
export type RuntimeUp = z.infer<typeof runtimeUpSchema>;
