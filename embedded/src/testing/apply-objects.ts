// `kubectl apply` for tests, on the data directory of a service that does not run: it writes objects for which the REST
// API has no operations. Argument: the data directory. Standard input: JSON
//   { "objects": [{ "kind", "metadata": { "name" }, "spec" }], "secrets": { "<Secret>": { "<key>": "<value>" } } }
// The value of a FunctionSecret becomes an envelope of what its secretKeyRef refers to among `secrets`.
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { KeyRing } from '@wherry/core/ports/key-ring.ts';
import type { NewResource } from '@wherry/core/ports/resource-store.ts';
import { sealConfidential } from '@wherry/core/resources/confidential-fields.ts';
import type { Kind } from '@wherry/core/resources/kinds.ts';
import { systemClock as clock } from '@wherry/service/clock.ts';
import { createLogger } from '@wherry/service/logger.ts';
import { loadKeyFile } from '../data-directory/key-file.ts';
import { openDataDirectory } from '../data-directory/open-data-directory.ts';
import { NAMESPACE } from '../open-stores.ts';
import { openSqliteStore } from '../store/open-sqlite-store.ts';

const inputSchema = z.object({
  objects: z.array(z.custom<NewResource<Kind>>()),
  secrets: z.record(z.string(), z.record(z.string(), z.string())),
});
type Secrets = z.infer<typeof inputSchema>['secrets'];

function isSecret(object: NewResource<Kind>): object is NewResource<'FunctionSecret'> {
  return object.kind === 'FunctionSecret';
}

/** @throws Error for a value that refers to nothing among the secrets */
function sealed(
  keyRing: KeyRing,
  { kind, metadata, spec }: NewResource<'FunctionSecret'>,
  secrets: Secrets,
): NewResource<'FunctionSecret'> {
  const { name = '', key = '' } = spec.value.secretKeyRef ?? {};
  const value = secrets[name]?.[key];
  if (value === undefined) throw new Error(`FunctionSecret ${metadata.name}: there is no key ${key} in Secret ${name}`);
  const owner = { kind, metadata: { namespace: NAMESPACE, name: metadata.name } };
  return { kind, metadata, spec: { ...spec, value: sealConfidential(keyRing, owner, 'spec.value', value) } };
}

const { objects, secrets } = inputSchema.parse(JSON.parse(await text(process.stdin)));
const directory = await openDataDirectory({ path: process.argv[2] ?? '' });
const { keyRing } = loadKeyFile(directory.paths.keys, {
  create: directory.isNew,
  clock,
  logger: createLogger({ name: 'apply-objects', level: 'warn' }),
});
const store = await openSqliteStore({ file: directory.paths.database, namespace: NAMESPACE, clock });
for (const object of objects) await store.create(isSecret(object) ? sealed(keyRing, object, secrets) : object);
await store.close();
directory.release();
