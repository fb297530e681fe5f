import { z } from 'zod';
import { isFeedAddress } from './feed/feed-address.ts';

/*
 * Variables that several programs read: each has one schema, so that every program refuses it in the same words. What
 * differs between programs, whether it is required and its default, is in the `config.ts` of each.
 */

/** 0 takes any free port. */
export const portVariable = z.coerce
  .number('must be a port number')
  .int('must be a port number')
  .min(0, 'must be at least 0')
  .max(65_535, 'must be at most 65535');

export const hostVariable = z.string().max(255);

/** Of a file, a folder or a socket. */
export const pathVariable = z.string().max(4096);

export const urlVariable = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** Where callers reach functions, without a trailing slash. */
export const functionUrlVariable = z
  .url({ protocol: /^https?$/, error: 'must be the http or https URL where callers reach functions' })
  .transform((url) => url.replace(/\/+$/, ''));

/** Where routers and runtimes find the operators' feed. */
export const feedAddressVariable = z.string().refine(isFeedAddress, 'must be host:port');

/** How long a program still takes calls after SIGTERM, while others learn that it goes. */
export const lameDuckSecondsVariable = z.coerce.number('must be a number of seconds').min(0).max(600);

/** The log database at most. */
export const telemetryMebibytesVariable = z.coerce
  .number('must be a number of MiB')
  .min(16, 'must be at least 16')
  .max(1_048_576);

export const logLevelVariable = z.enum(['debug', 'info', 'warn', 'error', 'silent']);
export type LogLevel = z.infer<typeof logLevelVariable>;

/** In a cluster: the pod's name, for its log. */
export const instanceVariable = z.string().max(253);

/** What Kubernetes takes as the name of a namespace, among others. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Prefix of the names of a release's objects. */
export const releaseNameVariable = z.string().max(40).regex(DNS_LABEL, 'must be lowercase letters, digits and dashes');
export const namespaceVariable = z.string().regex(DNS_LABEL, 'must be the name of a namespace');
