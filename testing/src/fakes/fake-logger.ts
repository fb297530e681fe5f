import type { Logger } from '@wherry/core/ports/logger.ts';

interface LoggedLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  fields: Record<string, unknown>;
  message: string;
}

/** Keeps the lines of itself and of its children. */
export class FakeLogger implements Logger {
  readonly lines: LoggedLine[];
  readonly #fields: object;

  constructor(lines: LoggedLine[] = [], fields: object = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  debug(fields: object, message: string): void {
    this.#add('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#add('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#add('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#add('error', fields, message);
  }

  child(fields: object): FakeLogger {
    return new FakeLogger(this.lines, { ...this.#fields, ...fields });
  }

  /** The lines of one level. */
  of(level: LoggedLine['level']): LoggedLine[] {
    return this.lines.filter((line) => line.level === level);
  }

  #add(level: LoggedLine['level'], fields: object, message: string): void {
    this.lines.push({ level, fields: { ...this.#fields, ...fields }, message });
  }
}
