import { z } from 'zod';
import { testKeyRing } from '@wherry/testing/test-key-ring.ts';
import { CONFIDENTIAL_FIELDS, confidentialValues, openConfidential, sealConfidential } from './confidential-fields.ts';
import { confidentialSchema } from '../resources/confidential.ts';
import {
  ALL_KINDS,
  KINDS,
  type ApiKeyResource,
  type CodeSourceResource,
  type KeyGroupResource,
} from '../resources/kinds.ts';

/** Every path in a schema at which a confidential value stands. */
function confidentialPaths(schema: unknown, path: string): string[] {
  const { def } = (schema as z.ZodType)._zod as unknown as { def: Record<string, unknown> };
  // A described schema is a copy of it with the same definition.
  if (def === (confidentialSchema._zod.def as unknown)) return [path];
  const inner = ['innerType', 'element', 'valueType', 'in', 'out', 'left', 'right'].filter(
    (part) => def[part] !== undefined,
  );
  const members = (def.options ?? def.items ?? []) as unknown[];
  return [
    ...Object.entries(def.shape ?? {}).flatMap(([name, value]) => confidentialPaths(value, `${path}.${name}`)),
    ...inner.flatMap((part) => confidentialPaths(def[part], def.innerType === undefined ? `${path}[]` : path)),
    ...members.flatMap((member) => confidentialPaths(member, path)),
  ];
}

const ring = testKeyRing();
const meta = {
  namespace: 'wherry',
  uid: 'u',
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const source: CodeSourceResource = {
  apiVersion: 'wherry.dev/v1alpha1',
  kind: 'CodeSource',
  metadata: { ...meta, name: 'web' },
  spec: {
    type: 'git',
    enabled: true,
    git: { url: 'https://example.org/a.git', authToken: { encrypted: 'E1' } },
    sync: { webhook: { secret: { secretKeyRef: { name: 's', key: 'k' } } } },
  },
  status: {},
};
const bare: CodeSourceResource = { ...source, spec: { type: 'manual', enabled: true } };

describe('the registry of confidential fields', () => {
  it.each(ALL_KINDS)('K4: names exactly the confidential fields of %s', (kind) => {
    const found = [...confidentialPaths(KINDS[kind].spec, 'spec'), ...confidentialPaths(KINDS[kind].status, 'status')];
    expect([...CONFIDENTIAL_FIELDS[kind]].sort()).toEqual(found.sort());
  });

  it('sees a field behind whatever wrappers', () => {
    const schema = z.strictObject({
      a: z.array(z.strictObject({ b: confidentialSchema.optional() })).prefault([]),
      c: z.record(z.string(), confidentialSchema.nullable()),
      d: z.union([z.string(), z.strictObject({ e: confidentialSchema.default({ encrypted: 'x' }) })]).readonly(),
      f: z.string(),
    });
    expect(
      confidentialPaths(
        schema.refine(() => true),
        'spec',
      ),
    ).toEqual(['spec.a[].b', 'spec.c[]', 'spec.d.e']);
  });
});

describe('confidentialValues', () => {
  it('lists what an object holds', () => {
    expect(confidentialValues(source)).toEqual([
      { field: 'spec.git.authToken', value: { encrypted: 'E1' } },
      { field: 'spec.sync.webhook.secret', value: { secretKeyRef: { name: 's', key: 'k' } } },
    ]);
    expect(confidentialValues(bare)).toEqual([]);
  });

  it('finds nothing in a kind that has none', () => {
    const group: KeyGroupResource = {
      apiVersion: 'a',
      kind: 'KeyGroup',
      metadata: { ...meta, name: 'g' },
      spec: {},
      status: {},
    };
    expect(confidentialValues(group)).toEqual([]);
  });
});

describe('sealConfidential and openConfidential', () => {
  const owner = { kind: 'ApiKey' as const, metadata: { ...meta, name: 'key-1' } };
  const key: ApiKeyResource = {
    apiVersion: 'wherry.dev/v1alpha1',
    ...owner,
    spec: { keyGroup: 'g', enabled: true, value: sealConfidential(ring, owner, 'spec.value', 'the value') },
    status: {},
  };

  it('meet in the object', () => {
    expect(openConfidential(ring, key, 'spec.value')).toBe('the value');
    expect(confidentialSchema.safeParse(key.spec.value).success).toBe(true);
  });

  it('E2: do not meet in another object', () => {
    const moved = { ...key, metadata: { ...key.metadata, namespace: 'elsewhere' } };
    expect(() => openConfidential(ring, moved, 'spec.value')).toThrow(
      expect.objectContaining({ code: 'not_authentic' }),
    );
  });

  it('say where there is nothing to open', () => {
    expect(() => openConfidential(ring, bare, 'spec.git.authToken')).toThrow(
      expect.objectContaining({ code: 'no_envelope' }),
    );
  });
});
