import { LazyRequest } from './lazy-request.ts';
import { LightResponse } from './light-response.ts';
import { realFetch, realHeaders, realRequest } from './real-globals.ts';
import { RequestHeaders } from './request-headers.ts';
import type { RequestInfo } from './web-types.ts';

/**
 * Puts the light Response in the place of Node's, and teaches Request, Headers and fetch to take the lazy Request for
 * one of theirs. Before the handler is loaded, which may keep hold of any of them.
 */
export function installWebGlobals(): void {
  define('Response', () => LightResponse);
  define('Request', requestClass);
  define('Headers', headersClass);
  const fetch: typeof globalThis.fetch = (input, init) => realFetch(LazyRequest.isOne(input) ? input.real() : input, init);
  define('fetch', () => fetch);
}

/** A global that is made when it is first looked at. */
function define(name: string, make: () => unknown): void {
  const settle = (value: unknown): unknown => {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    return value;
  };
  Object.defineProperty(globalThis, name, {
    configurable: true,
    enumerable: false,
    get: () => settle(make()),
    set: settle,
  });
}

function requestClass(): unknown {
  const RealRequest = realRequest();
  return class Request extends RealRequest {
    constructor(input: RequestInfo, init?: RequestInit) {
      super(LazyRequest.isOne(input) ? input.real() : input, init);
    }

    static override [Symbol.hasInstance](value: unknown): boolean {
      return LazyRequest.isOne(value) || Function.prototype[Symbol.hasInstance].call(RealRequest, value);
    }
  };
}

function headersClass(): unknown {
  const RealHeaders = realHeaders();
  Object.setPrototypeOf(RequestHeaders.prototype, RealHeaders.prototype);
  return RealHeaders;
}
