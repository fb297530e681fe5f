/** What no row of the tables proves, and where it is proved instead. */
export interface Elsewhere {
  why: string;
  /** A test file, or the page that says that it is open. */
  where: string;
}

const GIT: Elsewhere = { why: 'Sources from git are not there yet.', where: 'docs/reference/requirements.md' };
const PROVIDER: Elsewhere = { why: 'They need an OpenID Connect provider.', where: 'manager/src/oidc/oidc.test.ts' };
const RACES: Elsewhere = {
  why: 'Somebody else has to write the object again and again during the request.',
  where: 'manager/src/object-access/collection.test.ts',
};

/** Of every operation. */
export const STATUSES_ELSEWHERE: Record<number, Elsewhere> = {
  408: { why: 'It takes 30 s.', where: 'manager/src/http/slow-bodies.test.ts' },
  500: { why: 'The service has to fail.', where: 'manager/src/http/api-rules.test.ts' },
  503: { why: 'The store has to be away.', where: 'manager/src/http/api-rules.test.ts' },
};

/** An operation and a status of it. */
export const ANSWERS_ELSEWHERE: Record<string, Elsewhere> = {
  'enableFunction 409': RACES,
  'disableFunction 409': RACES,
  'rollbackFunction 409': RACES,
  'updateSource 409': RACES,
  'updateKeyGroup 409': RACES,
  'updateSecret 409': RACES,
  'updateSettings 409': RACES,
  'deleteFile 409': RACES,
  'putTree 409': RACES,
  'syncSource 200': GIT,
  'syncSource 409': GIT,
  'deliverWebhook 200': GIT,
  'deliverWebhook 400': GIT,
  'deliverWebhook 413': GIT,
  'deliverWebhook 415': GIT,
  'deliverWebhook 429': { why: 'The rule of all bad keys.', where: 'manager/src/http/bad-keys.test.ts' },
  'setUp 429': { why: 'The rule of all bad keys.', where: 'manager/src/http/bad-keys.test.ts' },
  'startOidcSignIn 302': PROVIDER,
  'startOidcSignIn 400': PROVIDER,
  'startOidcSignIn 401': PROVIDER,
  'startOidcSignIn 429': PROVIDER,
  'finishOidcSignIn 302': PROVIDER,
  'finishOidcSignIn 400': PROVIDER,
  'finishOidcSignIn 401': PROVIDER,
  'finishOidcSignIn 403': PROVIDER,
  'finishOidcSignIn 409': PROVIDER,
  'finishOidcSignIn 429': PROVIDER,
  'rotateEncryptionKey 409': {
    why: 'A rotation of a few values is over before the next request.',
    where: 'manager/src/encryption-keys/rotation.test.ts',
  },
};

export const CODES_ELSEWHERE: Record<string, Elsewhere> = {
  internal_error: { why: 'The service has to fail.', where: 'manager/src/http/api-rules.test.ts' },
  unavailable: { why: 'The store has to be away.', where: 'manager/src/http/api-rules.test.ts' },
  request_timeout: { why: 'It takes 10 s.', where: 'router/src/http-framing/request-validation.test.ts' },
  over_capacity: { why: 'Calls have to be held open.', where: 'router/src/balance/balance.test.ts' },
  overloaded: { why: 'Calls have to be held open.', where: 'router/src/limit/limit.test.ts' },
  no_instance: { why: 'An instance has to be away.', where: 'router/src/balance/balance.test.ts' },
  not_ready: { why: 'The router has to be without its functions.', where: 'router/src/feed/feed.test.ts' },
  bad_context: { why: 'No caller reaches an instance.', where: 'runtime-image/src/conformance/failing-calls.test.ts' },
  manager_unavailable: { why: 'The manager has to be away.', where: 'router/src/manager-pipe/manager-pipe.test.ts' },
};

const OPEN_CALLS = 'Calls have to be held open.';
const OPEN_UPLOADS: Elsewhere = {
  why: 'Uploads have to be held open.',
  where: 'manager/src/files/upload-bounds.test.ts',
};
const MANY_FILES: Elsewhere = { why: 'They are many files.', where: 'manager/src/files/upload-bounds.test.ts' };
const SLOW_BODIES: Elsewhere = { why: 'It takes 30 s.', where: 'manager/src/http/slow-bodies.test.ts' };
const STREAMS: Elsewhere = { why: 'They are many streams.', where: 'manager/src/http/event-stream.test.ts' };
const HOURS: Elsewhere = { why: 'It takes hours.', where: 'manager/src/sessions/sessions.test.ts' };

/** As docs/reference/limits.md calls them. */
export const LIMITS_ELSEWHERE: Record<string, Elsewhere> = {
  'Calls of a function at once, over all of its instances': {
    why: OPEN_CALLS,
    where: 'router/src/balance/balance.test.ts',
  },
  'Calls of a router at once': { why: OPEN_CALLS, where: 'router/src/limit/limit.test.ts' },
  'Wait of a call for an instance to become ready': {
    why: 'It takes 10 s.',
    where: 'router/src/balance/balance.test.ts',
  },
  'Memory of an instance': { why: 'An instance has to fail.', where: 'embedded/src/workloads/crash.test.ts' },
  'Blocked event loop, on one machine': {
    why: 'An instance has to fail.',
    where: 'embedded/src/workloads/crash.test.ts',
  },
  'Arrival of a request line and headers': {
    why: 'It takes 10 s.',
    where: 'router/src/http-framing/request-validation.test.ts',
  },
  'Pace of a body, at least': { why: 'It takes 10 s.', where: 'router/src/forward/forward.test.ts' },
  'Files of a source': MANY_FILES,
  'Entries of a tree: files and folders of a tar, parts of a form': MANY_FILES,
  'Tree, packed and unpacked': MANY_FILES,
  'Uploads that are read at once': OPEN_UPLOADS,
  'Arrival of a JSON body': SLOW_BODIES,
  'JSON bodies in memory, of all requests together': SLOW_BODIES,
  'Periods of one answer with metrics': { why: 'They are many.', where: 'manager/src/metrics/metrics.test.ts' },
  'Open streams of logs': STREAMS,
  'Open streams of events': STREAMS,
  'Open streams of one user, of each kind': STREAMS,
  'Sign-ins of one address at once': {
    why: 'Passwords have to be hashed at once.',
    where: 'manager/src/sessions/sign-in.test.ts',
  },
  'Failed sign-ins with OpenID Connect from one address': PROVIDER,
  Session: HOURS,
  'Session without a request': HOURS,
  'Encryption keys': { why: 'They are a hundred.', where: 'manager/src/encryption-keys/rotation.test.ts' },
};
