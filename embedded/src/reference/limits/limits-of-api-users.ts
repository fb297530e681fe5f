import { keyRotateSchema } from '@wherry/manager/keys/key-schemas.ts';
import { MANAGER_LIMITS } from '@wherry/manager/limits.ts';
import { emailSchema, passwordSchema } from '@wherry/manager/users/user-schemas.ts';
import { BAD_KEYS } from '@wherry/service/bad-key-throttle.ts';
import { MAX_OPEN_REQUESTS } from '@wherry/service/pipeline.ts';
import { z } from 'zod';
import {
  answered,
  bytes,
  characters,
  fixed,
  lengthsOf,
  milliseconds,
  mostOf,
  number,
  ofField,
  ofSetting,
  seconds,
  type LimitRow,
} from './limit-row.ts';

const account = z.object({ email: emailSchema, password: passwordSchema });
const CLOSED = 'A connection without a request is closed, else the new one';
const INVALID = answered('validation_failed');
const CUT = 'The stream ends; `Last-Event-ID` resumes it';
const THROTTLED = `${answered('throttled')} with \`Retry-After\``;
const UNAVAILABLE = `${answered('unavailable')} with \`Retry-After\``;

const requests: LimitRow[] = [
  fixed('JSON body', bytes(MANAGER_LIMITS.jsonBytes), answered('too_large')),
  fixed('Levels of a JSON body', number(MANAGER_LIMITS.jsonDepth), INVALID),
  fixed('Arrival of a JSON body', milliseconds(MANAGER_LIMITS.jsonMs), answered('request_timeout')),
  fixed('Arrival of a request line and headers', milliseconds(MANAGER_LIMITS.headMs), 'The connection is closed'),
  fixed('JSON bodies in memory, of all requests together', bytes(MANAGER_LIMITS.bodyMemoryBytes), UNAVAILABLE),
  fixed('`details` of one error', number(MANAGER_LIMITS.errorDetails), 'Further ones are left out'),
  fixed('Connections to the management port', number(MANAGER_LIMITS.port.connections), CLOSED),
  fixed(
    'Connections to the management port from one address',
    number(MANAGER_LIMITS.port.connectionsPerAddress),
    CLOSED,
  ),
  fixed(
    'Requests of one connection that are answered at once (pipelining)',
    number(MAX_OPEN_REQUESTS),
    'Further ones wait, and the connection is not read meanwhile',
  ),
  fixed(
    'Invalid keys of one address',
    `${number(BAD_KEYS.most)} in ${milliseconds(BAD_KEYS.windowMs)}`,
    `${THROTTLED}; valid keys are not affected`,
  ),
];

const uploads: LimitRow[] = [
  ofSetting('One file', 'files.max-size-bytes', bytes, answered('too_large')),
  fixed(
    'JSON body that uploads a file',
    `2 × \`files.max-size-bytes\` + ${bytes(MANAGER_LIMITS.jsonFileOverheadBytes)}`,
    answered('too_large'),
  ),
  fixed('Parts of a form that uploads a file', number(MANAGER_LIMITS.formParts), answered('too_large')),
  fixed(
    'Entries of a tree: files and folders of a tar, parts of a form',
    number(MANAGER_LIMITS.tree.entries),
    answered('too_large'),
  ),
  fixed('Tree, packed and unpacked', bytes(MANAGER_LIMITS.tree.bytes), answered('too_large')),
  fixed(
    'Uploads that are read at once',
    number(MANAGER_LIMITS.uploadMemoryBytes / MANAGER_LIMITS.memoryOfUploadBytes),
    UNAVAILABLE,
  ),
];

const lists: LimitRow[] = [
  {
    ...fixed('Entries of a page of logs or audit records', number(MANAGER_LIMITS.pageSize), INVALID),
    change: `parameter \`limit\`: 1 to ${number(MANAGER_LIMITS.maxPageSize)}`,
  },
  fixed('Words of a search in logs', number(MANAGER_LIMITS.searchWords), INVALID),
  fixed('Periods of one answer with metrics', number(MANAGER_LIMITS.metricPeriods), INVALID),
  fixed('Open streams of logs', number(MANAGER_LIMITS.streams), THROTTLED),
  fixed('Open streams of events', number(MANAGER_LIMITS.eventStreams), THROTTLED),
  fixed('Open streams of one user, of each kind', `${MANAGER_LIMITS.streamsOfUser * 100} % of these`, THROTTLED),
  fixed('Data that waits for one listener', bytes(MANAGER_LIMITS.streamBufferBytes), CUT),
  fixed('Time in which a listener takes none of it', milliseconds(MANAGER_LIMITS.streamStalledMs), CUT),
  fixed(
    'Events that a listener may miss',
    `${number(MANAGER_LIMITS.missedEvents.events)}, of ${bytes(MANAGER_LIMITS.missedEvents.bytes)}`,
    'The resumed stream begins with `event: reset`',
  ),
];

const signIn: LimitRow[] = [
  fixed('Password', lengthsOf(account, 'password'), INVALID),
  fixed('Email', characters(mostOf(account, 'email')), INVALID),
  fixed(
    'Failed sign-ins to one account from one address',
    `${number(MANAGER_LIMITS.signInFailures)} in ${milliseconds(MANAGER_LIMITS.signInWindowMs)}`,
    THROTTLED,
  ),
  fixed('Sign-ins of one address at once', number(MANAGER_LIMITS.signInsAtOnce), THROTTLED),
  fixed(
    'Failed sign-ins with OpenID Connect from one address',
    `${number(MANAGER_LIMITS.providerFailures)} in ${milliseconds(MANAGER_LIMITS.signInWindowMs)}`,
    THROTTLED,
  ),
  fixed('Session', milliseconds(MANAGER_LIMITS.sessionMs), answered('unauthorized')),
  fixed('Session without a request', milliseconds(MANAGER_LIMITS.sessionIdleMs), answered('unauthorized')),
  fixed(
    'Sessions of one user',
    number(MANAGER_LIMITS.sessionsOfUser),
    'The one that was not used for the longest time ends',
  ),
  ofField(
    'Overlap of two values of a key',
    { schema: keyRotateSchema, field: 'overlapSeconds', of: 'the rotation', format: seconds },
    INVALID,
  ),
];

/** For users of the management API. */
export const LIMITS_OF_API_USERS: readonly LimitRow[] = [...requests, ...uploads, ...lists, ...signIn];
