/*
 * Node's own Request, Response and Headers. To touch them is to load them, which costs a process 7 MiB: so each is
 * looked up when it is first needed, here, before anything stands in their place.
 */
const descriptors = Object.getOwnPropertyDescriptors(globalThis);

function lazily<Name extends 'Request' | 'Response' | 'Headers'>(name: Name): () => (typeof globalThis)[Name] {
  let found: (typeof globalThis)[Name] | undefined;
  return () => {
    const { get, value } = descriptors[name] as PropertyDescriptor;
    return (found ??= (get === undefined ? value : get.call(globalThis)) as (typeof globalThis)[Name]);
  };
}

export const realRequest = lazily('Request');
export const realResponse = lazily('Response');
export const realHeaders = lazily('Headers');
export const realFetch = (descriptors.fetch.value ?? globalThis.fetch) as typeof fetch;
