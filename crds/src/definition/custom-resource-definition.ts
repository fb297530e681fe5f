import { KINDS, type Kind } from '@wherry/core/resources/kinds.ts';
import { API_VERSION } from '@wherry/core/resources/meta.ts';
import { structuralSchema, type StructuralSchema } from '../schema/structural-schema.ts';
import { KIND_PRESENTATIONS } from './kind-presentation.ts';

export const [GROUP = '', VERSION = ''] = API_VERSION.split('/');

/** The schemas of a kind's spec, status and name. */
export function schemasOf(kind: Kind): Record<'spec' | 'status' | 'name', StructuralSchema> {
  const { spec, status, name } = KINDS[kind];
  return {
    spec: structuralSchema(spec, 'spec'),
    status: structuralSchema(status, 'status'),
    name: structuralSchema(name, 'metadata.name'),
  };
}

/** The CustomResourceDefinition of a kind, as an object to be written as YAML. */
export function customResourceDefinition(kind: Kind): object {
  const { plural, shortName } = KINDS[kind];
  const { singular, columns, scale } = KIND_PRESENTATIONS[kind];
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName], categories: ['wherry'] },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          subresources: { status: {}, ...(scale && { scale }) },
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

function rootSchema(kind: Kind): object {
  const { spec, status, name } = schemasOf(kind);
  return {
    description: KIND_PRESENTATIONS[kind].description,
    type: 'object',
    required: ['spec'],
    'x-kubernetes-validations': nameRules(name),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { description: 'The desired state.', ...spec },
      // Until the operator has seen it, an object is not what its conditions say: kstatus reads so.
      status: { description: 'The observed state.', default: { observedGeneration: -1 }, ...status },
    },
  };
}

/** The rules of a name are at the root: of `metadata`, rules can see only the name. */
function nameRules(name: StructuralSchema): object[] {
  return (name['x-kubernetes-validations'] ?? []).map(({ rule, message }) => ({
    rule: rule.replace(/\bself\b/g, 'self.metadata.name'),
    message: `metadata.name ${message}`,
  }));
}
