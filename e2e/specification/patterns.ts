/** Every id: an opaque text that is a `metadata.name`. */
export const ID: unknown = expect.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

/** ISO 8601 in UTC with milliseconds. */
export const TIME: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** Of `Retry-After` and others. */
export const SECONDS: unknown = expect.stringMatching(/^\d+$/);
