/*
 * Node's own Request, Response and Headers. To touch them is to load them, which costs a process 7 MiB: so each is
 * looked up when it is first needed, here, before anything stands in their place.
 */
function lazily<Name extends 'Request' | 'Response' | 'Headers'>(name: Name): () => (typeof globalThis)[Name] {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
  let found: (typeof globalThis)[Name] | undefined;
  return () => (found ??= (descriptor?.value ?? descriptor?.get?.call(globalThis)) as (typeof globalThis)[Name]);
}

export const realRequest = lazily('Request');
export const realResponse = lazily('Response');
export const realHeaders = lazily('Headers');
/** A function of Node's own that loads the rest when it is called. */
export const realFetch = globalThis.fetch;
