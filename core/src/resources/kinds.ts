import type { z } from 'zod';
import { apiKeySpecSchema, apiKeyStatusSchema, type ApiKeySpec, type ApiKeyStatus } from './api-key.ts';
import {
  codeSourceSpecSchema,
  codeSourceStatusSchema,
  type CodeSourceSpec,
  type CodeSourceStatus,
} from './code-source.ts';
import { functionSecretSpecSchema, functionSecretStatusSchema } from './function-secret.ts';
import type { FunctionSecretSpec, FunctionSecretStatus } from './function-secret.ts';
import { functionSpecSchema, functionStatusSchema, type FunctionSpec, type FunctionStatus } from './function.ts';
import { keyGroupSpecSchema, keyGroupStatusSchema, type KeyGroupSpec, type KeyGroupStatus } from './key-group.ts';
import { inKubernetes } from '../kubernetes-rule.ts';
import { nameSchema, type ObjectMeta } from './meta.ts';
import {
  SETTINGS_NAME,
  settingsSpecSchema,
  settingsStatusSchema,
  type SettingsSpec,
  type SettingsStatus,
} from './settings.ts';

/** Spec and status of each kind. */
export interface KindTypes {
  Function: { spec: FunctionSpec; status: FunctionStatus };
  CodeSource: { spec: CodeSourceSpec; status: CodeSourceStatus };
  KeyGroup: { spec: KeyGroupSpec; status: KeyGroupStatus };
  ApiKey: { spec: ApiKeySpec; status: ApiKeyStatus };
  FunctionSecret: { spec: FunctionSecretSpec; status: FunctionSecretStatus };
  Settings: { spec: SettingsSpec; status: SettingsStatus };
}
export type Kind = keyof KindTypes;

/** A stored object: the same shape in SQLite and in a cluster. */
export interface Resource<K extends Kind = Kind> {
  apiVersion: string;
  kind: K;
  metadata: ObjectMeta;
  spec: KindTypes[K]['spec'];
  status: KindTypes[K]['status'];
}

export type FunctionResource = Resource<'Function'>;
export type CodeSourceResource = Resource<'CodeSource'>;
export type KeyGroupResource = Resource<'KeyGroup'>;
export type ApiKeyResource = Resource<'ApiKey'>;
export type FunctionSecretResource = Resource<'FunctionSecret'>;
export type SettingsResource = Resource<'Settings'>;

/** Names and schemas of one kind. */
export interface KindDefinition<K extends Kind> {
  kind: K;
  plural: string;
  shortName: string;
  /** What `metadata.name` may be. */
  name: z.ZodType<string>;
  spec: z.ZodType<KindTypes[K]['spec']>;
  status: z.ZodType<KindTypes[K]['status']>;
}

const settingsNameSchema = nameSchema.refine((name) => name === SETTINGS_NAME, {
  message: `must be ${SETTINGS_NAME}: there is one Settings object`,
  params: inKubernetes(`self == '${SETTINGS_NAME}'`),
});

export const KINDS: { [K in Kind]: KindDefinition<K> } = {
  Function: {
    kind: 'Function',
    plural: 'functions',
    shortName: 'fn',
    name: nameSchema,
    spec: functionSpecSchema,
    status: functionStatusSchema,
  },
  CodeSource: {
    kind: 'CodeSource',
    plural: 'codesources',
    // Not cs: kubectl takes that for componentstatuses.
    shortName: 'csrc',
    name: nameSchema,
    spec: codeSourceSpecSchema,
    status: codeSourceStatusSchema,
  },
  KeyGroup: {
    kind: 'KeyGroup',
    plural: 'keygroups',
    shortName: 'kg',
    name: nameSchema,
    spec: keyGroupSpecSchema,
    status: keyGroupStatusSchema,
  },
  ApiKey: {
    kind: 'ApiKey',
    plural: 'apikeys',
    shortName: 'ak',
    name: nameSchema,
    spec: apiKeySpecSchema,
    status: apiKeyStatusSchema,
  },
  FunctionSecret: {
    kind: 'FunctionSecret',
    plural: 'functionsecrets',
    shortName: 'fsec',
    name: nameSchema,
    spec: functionSecretSpecSchema,
    status: functionSecretStatusSchema,
  },
  Settings: {
    kind: 'Settings',
    plural: 'settings',
    shortName: 'wset',
    name: settingsNameSchema,
    spec: settingsSpecSchema,
    status: settingsStatusSchema,
  },
};

export const ALL_KINDS = Object.keys(KINDS) as Kind[];

type Named = 'Function' | 'CodeSource' | 'KeyGroup' | 'ApiKey' | 'FunctionSecret';

/** What a person calls the object: `spec.displayName`, else `metadata.name`; a secret by the name that handlers use. */
export function displayName(resource: Resource<Named>): string {
  const spec: { displayName?: string | undefined; name?: string } = resource.spec;
  return spec.displayName ?? spec.name ?? resource.metadata.name;
}
