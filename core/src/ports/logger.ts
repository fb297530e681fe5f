/** Structured log lines. `error` means that a person must act; what recovers by itself is a `warn`. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds the fields to each line. */
  child(fields: object): Logger;
}
