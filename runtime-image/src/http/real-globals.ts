/*
 * Node's own Request, Response and Headers. To look at one is to load them all, which costs a process 7 MiB: only when
 * something is used that the light ones cannot do.
 */
const found: Partial<Pick<typeof globalThis, 'Request' | 'Response' | 'Headers'>> = {};

export const realRequest = (): typeof Request => (found.Request ??= globalThis.Request);
export const realResponse = (): typeof Response => (found.Response ??= globalThis.Response);
export const realHeaders = (): typeof Headers => (found.Headers ??= globalThis.Headers);
