/*
 * Node's own Request, Response and Headers. Accessing one loads them all, which costs a process 7 MiB: done only when
 * something is used that the light ones cannot do.
 */
const found: Partial<Pick<typeof globalThis, 'Request' | 'Response' | 'Headers'>> = {};

export const realRequest = (): typeof Request => (found.Request ??= globalThis.Request);
export const realResponse = (): typeof Response => (found.Response ??= globalThis.Response);
export const realHeaders = (): typeof Headers => (found.Headers ??= globalThis.Headers);

/** The web's own names for what Node's types leave unnamed. */
export type BodyInit = NonNullable<ConstructorParameters<typeof Response>[0]>;
export type HeadersInit = NonNullable<ResponseInit['headers']>;
export type RequestInfo = ConstructorParameters<typeof Request>[0];
