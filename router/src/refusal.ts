import { ROUTER_LIMITS } from './limits.ts';

/** Every way in which the router itself refuses a call: the status, and the sentence for the caller. */
const REFUSALS = {
  bad_request: [400, 'The request is malformed.'],
  bad_target: [
    400,
    'The request target is not acceptable: send a plain path without dot segments, //, \\, %2F, %5C or %00.',
  ],
  unauthorized: [401, 'A valid API key is required: send it as X-API-Key.'],
  function_not_found: [404, 'No function answers at this path.'],
  method_not_allowed: [405, 'The function at this path does not answer this method.'],
  request_timeout: [408, 'The request was not received in time.'],
  too_large: [413, 'The request body is larger than this function accepts.'],
  uri_too_long: [414, `The request target is longer than ${ROUTER_LIMITS.targetBytes} bytes.`],
  expectation_failed: [417, 'The only supported expectation is 100-continue.'],
  throttled: [429, 'Too many invalid API keys from this address. Try again later.'],
  over_capacity: [429, 'The function is at its limit of concurrent calls. Try again shortly.'],
  rate_limited: [429, 'The API key, or its group, has reached its rate limit. Try again later.'],
  quota_exceeded: [429, 'The API key, or its group, has used up its quota for today. Try again later.'],
  headers_too_large: [
    431,
    `The request headers are larger than ${ROUTER_LIMITS.headerBytes} bytes, or there are more than ${ROUTER_LIMITS.headers - 1} of them.`,
  ],
  handler_not_found: [404, 'The handler of this function does not exist.'],
  handler_syntax_error: [500, 'The handler of this function does not compile.'],
  handler_export_error: [500, 'The handler of this function does not export a function.'],
  handler_load_error: [500, 'The handler of this function cannot be loaded.'],
  internal_error: [500, 'The router failed to handle this call.'],
  runtime_crashed: [502, 'The function ended before it answered.'],
  bad_response: [502, 'The function sent a response that is not valid HTTP.'],
  manager_unavailable: [502, 'The management service does not answer.'],
  not_ready: [503, 'The router has not received its functions yet. Try again shortly.'],
  overloaded: [503, 'The router has no capacity for this call. Try again shortly.'],
  no_instance: [503, 'No instance of the function became ready in time.'],
  timeout: [504, 'The function did not finish in time.'],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type RefusalCode = keyof typeof REFUSALS;
export const REFUSAL_CODES = Object.keys(REFUSALS) as RefusalCode[];

/** A call that ends in the router. A value, not an exception, because an attacker can cause many of them. */
export class Refusal {
  readonly code: RefusalCode;
  readonly status: number;
  readonly message: string;
  /** Flat list of names and values. */
  readonly headers: readonly string[];

  constructor(code: RefusalCode, headers: readonly string[] = [], message?: string) {
    this.code = code;
    this.status = REFUSALS[code][0];
    this.message = message ?? REFUSALS[code][1];
    this.headers = headers;
  }
}

/** A refusal as it is answered: its head as a flat list of names and values, and the error body of the REST contract. */
export function answerTo(refusal: Refusal, requestId: string): { headers: string[]; body: string } {
  const body = JSON.stringify({ error: refusal.message, code: refusal.code, requestId });
  return {
    headers: [
      'Content-Type',
      'application/json',
      'Content-Length',
      String(Buffer.byteLength(body)),
      'Cache-Control',
      'no-store',
      'X-Content-Type-Options',
      'nosniff',
      'X-Request-Id',
      requestId,
      ...refusal.headers,
    ],
    body,
  };
}
