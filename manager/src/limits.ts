const MIB = 1024 * 1024;

/** What the management API takes of its callers. `docs/reference/limits.md` is generated from this table. */
export const MANAGER_LIMITS = {
  /** Far fewer than the file descriptors that a process usually has: the rest is for files, databases and instances. */
  port: { connections: 1024, connectionsPerAddress: 256 },
  /** How long a head may take to arrive. */
  headMs: 10_000,
  /** Bytes that a JSON body may have (M8). */
  jsonBytes: MIB,
  /** Levels that a JSON body may nest (M8). */
  jsonDepth: 32,
  /** How long a JSON body may take to arrive; uploads have no such limit. */
  jsonMs: 30_000,
  /** What a JSON upload may have beyond twice the file's own limit: escapes and base64 make it longer (M8). */
  jsonFileOverheadBytes: 65_536,
  /** Details of one error: as many as a caller can use. A body may have a hundred thousand offending fields. */
  errorDetails: 100,
  /** Of all uploads together that are being read. */
  uploadMemoryBytes: 128 * MIB,
  /** The memory of a body that is stored as it arrives. */
  memoryOfUploadBytes: MIB,
  /** Of all other bodies: they are small, and a slow upload must not keep anybody from revoking a key. */
  bodyMemoryBytes: 32 * MIB,
  /** Parts of a form that uploads one file. */
  formParts: 100,
  /** Of the upload of a tree: entries, including folders, and bytes, packed or unpacked. */
  tree: { entries: 20_000, bytes: 500 * MIB },
  /** The maximum number of files in a tree's manifest. */
  sourceFiles: 20_000,
  /** Bytes of a secret's value, as UTF-8. */
  secretBytes: 65_536,
  /** Entries of a page of a list, unless the request says how many; and how many it may say. */
  pageSize: 50,
  maxPageSize: 1000,
  /** The database compares each with the others in every entry: a hundred common words would keep it for ten seconds. */
  searchWords: 16,
  /** Periods of one answer, over all functions: about 20 MB. */
  metricPeriods: 100_000,
  /** Streams of one endpoint that may be open. */
  streams: 256,
  /** The same of events: as many as the port has connections. */
  eventStreams: 1024,
  /** Of the streams of an endpoint, one user has this part at the most: none of them keeps the others out. */
  streamsOfUser: 1 / 4,
  /** What waits for one listener at most: one that lags further behind is disconnected, and resumes by its last id. */
  streamBufferBytes: MIB,
  /** A listener that takes nothing for this long is disconnected. */
  streamStalledMs: 60_000,
  /** What a listener may miss and still resume: a burst of changes of a few thousand functions. */
  missedEvents: { bytes: 8 * MIB, events: 10_000 },
  /** A session ends this long after sign-in, however it is used, */
  sessionMs: 12 * 3_600_000,
  /** and after this long without a request. */
  sessionIdleMs: 30 * 60_000,
  /** Of one user; a further sign-in ends the one that was not used for the longest time. */
  sessionsOfUser: 50,
  /** Failed sign-ins to one account from one address, in a window, that stop further attempts (M2). */
  signInFailures: 5,
  signInWindowMs: 15 * 60_000,
  /**
   * Passwords of one address that are hashed or wait for it; hashing is the most expensive thing that a stranger can
   * request.
   */
  signInsAtOnce: 4,
  /** Answers of the provider that do not fit, of one address in such a window: each costs a request to the provider. */
  providerFailures: 20,
};
