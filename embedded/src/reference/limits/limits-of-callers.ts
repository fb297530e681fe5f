import { KEY_MAX_LENGTH, KEY_MIN_LENGTH } from '@wherry/core/crypto/key-value.ts';
import { dailyQuotaSchema, rateLimitSchema } from '@wherry/core/resources/key-limits.ts';
import { capacityOf } from '@wherry/router/limit/capacity.ts';
import { ROUTER_LIMITS } from '@wherry/router/limits.ts';
import { BAD_KEYS } from '@wherry/service/bad-key-throttle.ts';
import { MAX_OPEN_REQUESTS } from '@wherry/service/pipeline.ts';
import { z } from 'zod';
import { bytes, fixed, milliseconds, number, ofField, refused, type LimitRow } from './limit-row.ts';

/** The capacity of a router depends on its memory: the page gives that of a common size. */
const MEMORY_MIB = 512;
const capacity = capacityOf({ memory: MEMORY_MIB * 1024 * 1024, descriptors: Number.MAX_SAFE_INTEGER });
const ofRouter = (limit: string, value: number, beyond: string): LimitRow => ({
  limit,
  value: `${number(value)}, with ${MEMORY_MIB} MiB of memory`,
  change: "by the router's memory and its limit on open files",
  beyond,
});
const keySchema = z.object({ rateLimit: rateLimitSchema, dailyQuota: dailyQuotaSchema });
const ofKey = (limit: string, field: string, beyond: string): LimitRow =>
  ofField(limit, { schema: keySchema, field, of: 'a key or group', format: number, fallback: 'none' }, beyond);
const CLOSED = 'A connection without a call is closed, else the new one';

/** For callers of functions. */
export const LIMITS_OF_CALLERS: readonly LimitRow[] = [
  fixed('Request target', bytes(ROUTER_LIMITS.targetBytes), refused('uri_too_long')),
  fixed('Headers of a request', bytes(ROUTER_LIMITS.headerBytes), refused('headers_too_large')),
  fixed('Header lines of a request', number(ROUTER_LIMITS.headers - 1), refused('headers_too_large')),
  fixed(
    `Different words in target and headers that could be keys (${KEY_MIN_LENGTH} to ${KEY_MAX_LENGTH} letters, digits, \`-\`, \`_\`)`,
    number(ROUTER_LIMITS.keyLikeWords),
    refused('headers_too_large'),
  ),
  fixed('Arrival of a request line and headers', milliseconds(ROUTER_LIMITS.headMs), refused('request_timeout')),
  fixed(
    'Pace of a body, at least',
    `${bytes(ROUTER_LIMITS.paceBytes)} in ${milliseconds(ROUTER_LIMITS.paceWindowMs)}`,
    refused('request_timeout'),
  ),
  fixed('Idle connection', milliseconds(ROUTER_LIMITS.idleMs), 'The connection is closed'),
  fixed(
    'Requests of one connection that are answered at once (pipelining)',
    number(MAX_OPEN_REQUESTS),
    'Further ones wait, and the connection is not read meanwhile',
  ),
  ofRouter('Connections to a router', capacity.connections, CLOSED),
  ofRouter('Connections to a router from one address', capacity.connectionsPerAddress, CLOSED),
  ofRouter('Calls of a router at once', capacity.calls, `${refused('overloaded')} with \`Retry-After\``),
  fixed(
    'Invalid keys of one address',
    `${number(BAD_KEYS.most)} in ${milliseconds(BAD_KEYS.windowMs)}`,
    `${refused('throttled')} with \`Retry-After\`; valid keys are not affected`,
  ),
  ofKey('Calls per second', 'rateLimit.requestsPerSecond', `${refused('rate_limited')} with \`Retry-After\``),
  {
    ...ofKey('Calls at once after a pause', 'rateLimit.burst', `${refused('rate_limited')} with \`Retry-After\``),
    value: '`requestsPerSecond`',
  },
  ofKey('Calls in a day of UTC', 'dailyQuota', `${refused('quota_exceeded')} with \`Retry-After\``),
];
