import type { Clock } from '@wherry/core/ports/clock.ts';
import type { ObjectWrites, ObjectWriter, WrittenObject } from '@wherry/core/ports/object-writes.ts';
import { KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { API_VERSION } from '@wherry/core/resources/meta.ts';
import type { KubeClient } from '../client/kube-client.ts';
import { listObjects } from '../client/list-objects.ts';
import { watchObjects } from '../client/watch-objects.ts';
import type { CustomObject } from './custom-object.ts';

/** An entry as the API server sends it (`metav1.ManagedFieldsEntry`), without the fields themselves. */
interface ManagedFields {
  manager?: string;
  operation?: string;
  subresource?: string;
  time?: string;
}

interface ObjectWritesOptions {
  client: KubeClient;
  namespace: string;
  clock: Clock;
}

/** The writers of the custom resources of one namespace, as their managed fields name them. */
export function createObjectWrites({ client, namespace, clock }: ObjectWritesOptions): ObjectWrites {
  const pathOf = (kind: Kind): string => `/apis/${API_VERSION}/namespaces/${namespace}/${KINDS[kind].plural}`;
  return {
    async list(kind) {
      const { items, resourceVersion } = await listObjects<CustomObject>(client, { path: pathOf(kind) });
      return { items: items.map((raw) => writtenObject(kind, raw)), resourceVersion };
    },
    async *watch(kind, options) {
      for await (const event of watchObjects<CustomObject>(client, clock, { ...options, path: pathOf(kind) })) {
        if (event.type === 'bookmark') yield event;
        else yield { type: event.type, object: writtenObject(kind, event.object) };
      }
    },
  };
}

function writtenObject(kind: Kind, { metadata, spec }: CustomObject): WrittenObject {
  const { name, uid, resourceVersion, generation = 1, creationTimestamp = '', deletionTimestamp } = metadata;
  const { managedFields = [] } = metadata as { managedFields?: ManagedFields[] };
  return {
    kind,
    metadata: {
      name,
      uid,
      resourceVersion,
      generation,
      createdAt: timeOf(creationTimestamp),
      ...(deletionTimestamp !== undefined && { deletedAt: timeOf(deletionTimestamp) }),
    },
    displayName: displayNameOf(spec) ?? name,
    writers: managedFields.map(writerOf),
  };
}

/** As core's `displayName`, of a spec that need not fit this version's schema. */
function displayNameOf(spec: unknown): string | undefined {
  const { displayName, name } = (spec ?? {}) as { displayName?: unknown; name?: unknown };
  return [displayName, name].find((text) => typeof text === 'string');
}

function writerOf({ manager = '', operation, subresource = '', time }: ManagedFields): ObjectWriter {
  return {
    manager,
    operation: operation === 'Apply' ? 'Apply' : 'Update',
    subresource,
    ...(time !== undefined && { time: timeOf(time) }),
  };
}

/** 0 for none. */
function timeOf(text: string): number {
  const time = Date.parse(text);
  return Number.isNaN(time) ? 0 : time;
}
