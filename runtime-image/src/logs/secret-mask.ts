const MASK = '***';

/** Keeps the values of secrets that the function read out of its log lines. */
export class SecretMask {
  /** Longest first, so that a value inside another one leaves no remainder. */
  #values: string[] = [];

  add(value: string): void {
    if (value === '' || this.#values.includes(value)) return;
    this.#values = [...this.#values, value].sort((a, b) => b.length - a.length);
  }

  apply(text: string): string {
    let masked = text;
    for (const value of this.#values) if (masked.includes(value)) masked = masked.replaceAll(value, MASK);
    return masked;
  }
}
