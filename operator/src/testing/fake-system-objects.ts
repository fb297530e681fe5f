import { conflict } from '@wherry/core/errors.ts';
import type { SystemObject, SystemObjects } from '@wherry/core/ports/system-objects.ts';

/** Secrets (of bytes) or ConfigMaps (of text) in memory, which count their writes. */
export class FakeSystemObjects<T extends Buffer | string = Buffer> implements SystemObjects<T> {
  writes = 0;
  readonly #objects = new Map<string, SystemObject<T>>();

  async get(name: string): Promise<SystemObject<T> | undefined> {
    await Promise.resolve();
    const found = this.#objects.get(name);
    return found && { ...found, data: { ...found.data } };
  }

  async create(name: string, data: Record<string, T>): Promise<SystemObject<T>> {
    await Promise.resolve();
    if (this.#objects.has(name)) throw conflict(`${name} exists.`);
    return this.put(name, data);
  }

  async update(name: string, data: Record<string, T>, resourceVersion: string): Promise<SystemObject<T>> {
    await Promise.resolve();
    if (this.#objects.get(name)?.resourceVersion !== resourceVersion)
      throw conflict(`${name} has changed in the meantime.`);
    return this.put(name, data);
  }

  /** As a person with kubectl does. */
  put(name: string, data: Record<string, T>): SystemObject<T> {
    this.writes += 1;
    const object = { data: { ...data }, resourceVersion: String(this.writes) };
    this.#objects.set(name, object);
    return { ...object, data: { ...data } };
  }

  remove(name: string): void {
    this.#objects.delete(name);
  }

  names(): string[] {
    return [...this.#objects.keys()].sort();
  }

  text(name: string, key: string): string {
    return this.#objects.get(name)?.data[key]?.toString() ?? '';
  }
}
