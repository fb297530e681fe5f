import { getCACertificates } from 'node:tls';
import { Agent, ProxyAgent, fetch, type Dispatcher, type Response } from 'undici';
import { matchesIntegrity } from '../../blob-exchange/integrity.ts';
import type { RegistryOptions } from '../package-registry.ts';
import { InstallError, type InstallLimits } from './protocol.ts';

const CONNECT_MS = 10_000;
const MAX_REDIRECTS = 5;
/** Metadata kept for the next resolution, which revalidates it. */
const KEPT_BYTES = 48 * 1024 * 1024;

export interface Packument {
  name: string;
  'dist-tags'?: Record<string, string>;
  versions: Record<string, { name: string; version: string; dist?: { tarball?: string; integrity?: string } }>;
}

/** One registry, over HTTP: the only code that opens connections here. */
export interface RegistryClient {
  /** The metadata of a package. @throws InstallError. */
  packument(name: string, signal: AbortSignal): Promise<Packument>;
  /** The bytes of a version, which match the integrity. @throws InstallError. */
  tarball(wanted: { name: string; version: string; integrity: string }, signal: AbortSignal): Promise<Buffer>;
}

export function createRegistryClient(registry: RegistryOptions, limits: InstallLimits): RegistryClient {
  const base = new URL(registry.url.endsWith('/') ? registry.url : `${registry.url}/`);
  const origin = { base, token: registry.token, dispatcher: createDispatcher(registry, limits) };
  const kept = new KeptPackuments();

  async function packument(name: string, signal: AbortSignal): Promise<Packument> {
    const before = kept.get(name);
    const accept = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8';
    const headers = { accept, ...(before && { 'if-none-match': before.etag }) };
    const tooLarge = () =>
      new InstallError(
        'PackageTooLarge',
        `The metadata of ${name} in the registry is larger than ${limits.metadataBytes} bytes.`,
        [name],
      );
    return orUnavailable(name, signal, async () => {
      const response = await get(origin, {
        about: name,
        url: new URL(name.replace('/', '%2f'), base),
        headers,
        signal,
      });
      if (response.status === 304 && before !== undefined) return before.packument;
      await expectOk(name, response);
      const bytes = await readBody(response, limits.metadataBytes, tooLarge);
      const found = parsePackument(name, bytes);
      kept.keep(name, response.headers.get('etag'), found, bytes.length);
      return found;
    });
  }

  async function tarball(
    { name, version, integrity }: { name: string; version: string; integrity: string },
    signal: AbortSignal,
  ): Promise<Buffer> {
    const label = `${name}@${version}`;
    // The address comes from the registry alone, never from a lock.
    const url = tarballUrl(kept.get(name)?.packument ?? (await packument(name, signal)), version);
    const tooLarge = () =>
      new InstallError('PackageTooLarge', `The tarball of ${label} is larger than ${limits.tarballBytes} bytes.`, [
        name,
      ]);
    const bytes = await orUnavailable(label, signal, async () => {
      const response = await get(origin, { about: label, url, headers: {}, signal });
      await expectOk(label, response);
      return readBody(response, limits.tarballBytes, tooLarge);
    });
    if (matchesIntegrity(bytes, integrity)) return bytes;
    throw new InstallError(
      'PackageCorrupt',
      `The tarball of ${label} that the registry sent does not match the integrity hash ${integrity}.`,
      [name],
    );
  }

  return { packument, tarball };
}

/** The latest metadata, up to a sum of bytes; the oldest goes first. */
class KeptPackuments {
  readonly #kept = new Map<string, { etag: string; packument: Packument; bytes: number }>();

  get(name: string): { etag: string; packument: Packument } | undefined {
    return this.#kept.get(name);
  }

  keep(name: string, etag: string | null, packument: Packument, bytes: number): void {
    this.#kept.delete(name);
    if (etag === null) return;
    this.#kept.set(name, { etag, packument, bytes });
    let sum = [...this.#kept.values()].reduce((total, one) => total + one.bytes, 0);
    for (const [oldest, one] of this.#kept) {
      if (sum <= KEPT_BYTES) return;
      this.#kept.delete(oldest);
      sum -= one.bytes;
    }
  }
}

interface RegistryOrigin {
  base: URL;
  token: string | undefined;
  dispatcher: Dispatcher;
}

interface Get {
  /** The package or version, for messages. */
  about: string;
  url: URL;
  headers: Record<string, string>;
  signal: AbortSignal;
}

/**
 * One request and its redirects. The token is sent only to the registry's own origin, whatever a redirect says (B3).
 */
async function get(
  { base, token, dispatcher }: RegistryOrigin,
  { about, url, headers, signal }: Get,
): Promise<Response> {
  let target = url;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const authorization =
      token !== undefined && target.origin === base.origin ? { authorization: `Bearer ${token}` } : {};
    const response = await fetch(target, {
      dispatcher,
      redirect: 'manual',
      signal,
      headers: { 'user-agent': 'wherry', ...headers, ...authorization },
    });
    const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, target);
    if (next.protocol !== 'https:' && next.protocol !== target.protocol)
      throw unavailable(about, `it redirects to ${next.protocol}`);
    target = next;
  }
  throw unavailable(about, 'it redirects in a loop');
}

/** @throws InstallError for an address that is invalid or not HTTP. */
function tarballUrl({ name, versions }: Packument, version: string): URL {
  const address = versions[version]?.dist?.tarball;
  const url = address === undefined ? null : URL.parse(address);
  if (url === null) throw new InstallError('PackageNotFound', `The registry no longer has ${name}@${version}.`, [name]);
  if (/^https?:$/.test(url.protocol)) return url;
  throw new InstallError('PackageRefused', `The registry's address for ${name}@${version} is neither http nor https.`, [
    name,
  ]);
}

function createDispatcher({ ca, proxy }: RegistryOptions, { silenceMs }: InstallLimits): Dispatcher {
  const tls = ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] };
  const timeouts = { headersTimeout: silenceMs, bodyTimeout: silenceMs };
  if (proxy === undefined) return new Agent({ ...timeouts, connect: { ...tls, timeout: CONNECT_MS } });
  return new ProxyAgent({
    ...timeouts,
    uri: proxy,
    requestTls: { ...tls, timeout: CONNECT_MS },
    proxyTls: { ...tls, timeout: CONNECT_MS },
  });
}

async function expectOk(about: string, response: Response): Promise<void> {
  if (response.status === 200) return;
  await response.body?.cancel();
  const name = about.replace(/(?<=.)@.*$/s, '');
  if (response.status === 404)
    throw new InstallError('PackageNotFound', `The registry has no package ${about}.`, [name]);
  if (response.status === 401 || response.status === 403)
    throw unavailable(about, `it answered with status ${response.status}: it does not accept the token`);
  throw unavailable(about, `it answered with status ${response.status}`);
}

async function readBody(response: Response, limit: number, tooLarge: () => InstallError): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.byteLength;
    if (length > limit) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parsePackument(name: string, bytes: Buffer): Packument {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw unavailable(name, 'its answer is not JSON');
  }
  const found = value as Partial<Packument> | null;
  if (typeof found?.versions !== 'object' || found.versions === null)
    throw unavailable(name, 'its answer does not describe a package');
  return { ...found, versions: found.versions, name };
}

const unavailable = (about: string, why: string): InstallError =>
  new InstallError('RegistryUnavailable', `The registry did not deliver ${about}: ${why}.`, [
    about.replace(/(?<=.)@.*$/s, ''),
  ]);

/** Errors of sockets, names and certificates come out of `fetch` as causes. */
async function orUnavailable<T>(about: string, signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InstallError) throw error;
    const { cause } = error as { cause?: { code?: string; message?: string } };
    const why = cause?.code ?? cause?.message ?? (error as { code?: string }).code ?? (error as Error).message;
    throw unavailable(about, CAUSES[why] ?? why);
  }
}

const CAUSES: Record<string, string> = {
  ECONNREFUSED: 'it refuses connections (ECONNREFUSED)',
  ECONNRESET: 'it reset the connection (ECONNRESET)',
  ENOTFOUND: 'its host name does not resolve (ENOTFOUND)',
  EAI_AGAIN: 'its host name cannot be resolved at the moment (EAI_AGAIN)',
  UND_ERR_CONNECT_TIMEOUT: 'it did not accept the connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it stopped in the middle of its answer',
  UND_ERR_SOCKET: 'it closed the connection',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted (SELF_SIGNED_CERT_IN_CHAIN)',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
};
