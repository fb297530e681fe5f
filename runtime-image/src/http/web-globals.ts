import { runInThisContext } from 'node:vm';
import { LazyRequest } from './lazy-request.ts';
import { LightResponse } from './light-response.ts';
import { realHeaders, realRequest, type RequestInfo } from './real-globals.ts';
import { RequestHeaders } from './request-headers.ts';

const HAND_OVER = Symbol.for('wherry.web-globals');

/**
 * Puts the light Response before Node's, and a Request, Headers and fetch that take the lazy Request for one of theirs.
 * They are lexical globals, which hide those of `globalThis`: replacing these would access them, and so load them. Once
 * a process, before the handler is loaded, which may keep hold of any of them.
 */
export function installWebGlobals(): void {
  const realFetch = globalThis.fetch;
  globalThis.fetch = (input, init) => realFetch(LazyRequest.isOne(input) ? input.real() : input, init);
  const classes = { Response: LightResponse, Request: lazyClass(requestClass), Headers: lazyClass(headersClass) };
  Object.defineProperty(globalThis, HAND_OVER, { value: classes, configurable: true });
  runInThisContext(`const { Response, Request, Headers } = globalThis[Symbol.for('wherry.web-globals')];`);
  Reflect.deleteProperty(globalThis, HAND_OVER);
}

type AnyClass = abstract new (...args: never[]) => object;

/** A class that is created when it is first used. */
function lazyClass(make: () => AnyClass): object {
  let made: AnyClass | undefined;
  const real = (): AnyClass => (made ??= make());
  const proxy: object = new Proxy(function lazy() {}, {
    construct: (_target, args, newTarget) =>
      Reflect.construct(real(), args, newTarget === proxy ? real() : newTarget) as object,
    get: (_target, name) => Reflect.get(real(), name) as unknown,
    set: (_target, name, value) => Reflect.set(real(), name, value),
    has: (_target, name) => Reflect.has(real(), name),
    getPrototypeOf: () => Reflect.getPrototypeOf(real()),
  });
  return proxy;
}

function requestClass(): AnyClass {
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

function headersClass(): AnyClass {
  const RealHeaders = realHeaders();
  Object.setPrototypeOf(RequestHeaders.prototype, RealHeaders.prototype);
  return RealHeaders;
}
