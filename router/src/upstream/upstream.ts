import type { Readable } from 'node:stream';

/** A call as it goes to an instance. */
export interface UpstreamCall {
  method: string;
  /** Raw path and query. */
  path: string;
  /** Flat list of names and values. Content-Length frames the body; without it the body is chunked. */
  headers: string[];
  body: Readable | null;
}

/**
 * Why an exchange ended without a whole response:
 * `unsent` (not a byte reached the instance: it may be tried elsewhere), `crashed` (the connection ended),
 * `bad_response` (what came is not HTTP, or too large a head).
 */
export type UpstreamFailure = 'unsent' | 'crashed' | 'bad_response';

/** Receives the events of an exchange: `head`, then `data`, then one of `end` and `fail`; nothing after `abort`. */
export interface UpstreamReceiver {
  /** @param headers flat list of names and values, as received. */
  head(status: number, headers: string[]): void;
  /** @returns false to receive no more until `resume`. */
  data(chunk: Buffer): boolean;
  end(): void;
  fail(failure: UpstreamFailure): void;
}

/** An exchange under way. */
export interface UpstreamExchange {
  resume(): void;
  /** Ends the exchange at the instance, too. */
  abort(): void;
}

/** One instance's HTTP. The only code that knows how calls reach it. */
export interface Upstream {
  forward(call: UpstreamCall, receiver: UpstreamReceiver): UpstreamExchange;
  /** Lets running exchanges finish, then closes the connections. */
  close(): Promise<void>;
  /** Closes the connections now. */
  destroy(): Promise<void>;
}

/** Where an instance answers: a Unix socket, or TCP. */
export type UpstreamAddress = { path: string } | { host: string; port: number };
