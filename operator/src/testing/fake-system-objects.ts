import { conflict } from '@wherry/core/errors.ts';
import type { SystemObject, SystemObjects } from '../cluster/system-objects.ts';

/** Secrets or ConfigMaps in memory, which count their writes. */
export class FakeSystemObjects implements SystemObjects {
  writes = 0;
  readonly #objects = new Map<string, SystemObject>();

  async get(name: string): Promise<SystemObject | undefined> {
    await Promise.resolve();
    const found = this.#objects.get(name);
    return found && structuredCopy(found);
  }

  async create(name: string, data: Record<string, Buffer>): Promise<SystemObject> {
    await Promise.resolve();
    if (this.#objects.has(name)) throw conflict(`${name} exists.`);
    return this.#put(name, data);
  }

  async update(name: string, data: Record<string, Buffer>, resourceVersion: string): Promise<SystemObject> {
    await Promise.resolve();
    if (this.#objects.get(name)?.resourceVersion !== resourceVersion) throw conflict(`${name} was changed meanwhile.`);
    return this.#put(name, data);
  }

  /** As a person with kubectl does. */
  put(name: string, data: Record<string, string>): void {
    this.#put(name, Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text)])));
  }

  remove(name: string): void {
    this.#objects.delete(name);
  }

  names(): string[] {
    return [...this.#objects.keys()].sort();
  }

  text(name: string, key: string): string {
    return this.#objects.get(name)?.data[key]?.toString('utf8') ?? '';
  }

  #put(name: string, data: Record<string, Buffer>): SystemObject {
    this.writes += 1;
    const object = structuredCopy({ data, resourceVersion: String(this.writes) });
    this.#objects.set(name, object);
    return structuredCopy(object);
  }
}

function structuredCopy({ data, resourceVersion }: SystemObject): SystemObject {
  return { data: Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, Buffer.from(bytes)])), resourceVersion };
}
