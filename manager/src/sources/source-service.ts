import { conflict, DomainError, isDomainError, invalid, notFound } from '@wherry/core/errors.ts';
import { nameFor } from '@wherry/core/names.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ResourceStore } from '@wherry/core/ports/resource-store.ts';
import { displayName, type CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import { refused, requireSame } from '../http/validate.ts';
import { Collection, stampNew } from '../object-access/collection.ts';
import type { SourceCreate, SourceUpdate } from './source-schemas.ts';

const NO_GIT = 'git sources are not available yet: create one of type manual and upload its files';

/** Sources of code, without their files. */
export class SourceService {
  readonly #store: ResourceStore;
  readonly #clock: Clock;
  readonly #sources: Collection<'CodeSource'>;

  constructor(options: { store: ResourceStore; clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#sources = new Collection('CodeSource', options);
  }

  list(): Promise<CodeSourceResource[]> {
    return this.#sources.list();
  }

  /** @throws DomainError `not_found`. */
  get(id: string): Promise<CodeSourceResource> {
    return this.#sources.get(id);
  }

  /** @throws DomainError `not_found`. */
  async getByName(name: string): Promise<CodeSourceResource> {
    const found = (await this.list()).find((source) => displayName(source) === name);
    if (found === undefined) throw notFound(`There is no source named ${name}.`);
    return found;
  }

  /** @throws DomainError `conflict` when the name is taken; `validation_failed` for git. */
  async create(body: SourceCreate): Promise<CodeSourceResource> {
    if (body.type === 'git') throw refused([{ path: 'type', message: NO_GIT }]);
    refuseGitFields(body);
    if ((await this.list()).some((source) => displayName(source) === body.name)) throw taken(body.name);
    const metadata = { name: sourceId(body.name), annotations: stampNew(this.#clock) };
    const spec = { displayName: body.name, type: body.type, enabled: body.enabled ?? true, manual: {} };
    try {
      return await this.#store.create({ kind: 'CodeSource', metadata, spec });
    } catch (error) {
      if (isDomainError(error, 'conflict')) throw taken(body.name);
      throw error;
    }
  }

  /** Sets what the body names. @throws DomainError `not_found`, `validation_failed` for a fixed field that differs. */
  update(id: string, body: SourceUpdate): Promise<CodeSourceResource> {
    return this.#sources.change(id, (current) => {
      requireSame('name', body.name, displayName(current));
      requireSame('type', body.type, current.spec.type);
      if (current.spec.type === 'manual') refuseGitFields(body);
      else if (body.typeSettings !== undefined || body.syncSettings !== undefined)
        throw invalid(`typeSettings: ${NO_GIT}.`);
      return { ...current.spec, enabled: body.enabled ?? current.spec.enabled };
    });
  }

  /** Functions that run from it keep their last good revision. @returns what was removed. */
  async remove(id: string): Promise<CodeSourceResource> {
    const found = await this.get(id);
    await this.#sources.remove(found);
    return found;
  }

  /** @throws DomainError always, so far: manual sources have nothing to sync with. */
  async sync(id: string): Promise<never> {
    const source = await this.get(id);
    throw invalid(
      source.spec.type === 'manual' ? 'A manual source does not sync: upload its files.' : `type: ${NO_GIT}.`,
    );
  }
}

/** The one answer of the webhook for a source that accepts no deliveries: from outside, all look alike. */
export function webhookRefused(): DomainError {
  return new DomainError('unauthorized', 'The delivery has no valid signature.');
}

/** `by-name` as an id would hide behind the path of the look-up by name. */
function sourceId(name: string): string {
  return name === 'by-name' ? nameFor('source', name) : nameFor(name);
}

function taken(name: string): DomainError {
  return conflict(`A source named ${name} already exists.`);
}

function refuseGitFields(body: Pick<SourceCreate, 'typeSettings' | 'syncSettings'>): void {
  for (const part of ['typeSettings', 'syncSettings'] as const) {
    const set = Object.entries(body[part] ?? {}).find(([, value]) => value !== null && value !== undefined);
    if (set !== undefined) throw refused([{ path: `${part}.${set[0]}`, message: 'is only for type git' }]);
  }
}
