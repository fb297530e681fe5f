import type { Kind } from '@wherry/core/resources/kinds.ts';
import { CODE_REASONS, progressType, type ConditionType, type Reason } from '@wherry/core/resources/conditions.ts';

/** A column of `kubectl get`; with a priority of 1 only of `kubectl get -o wide`. */
export interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  description?: string;
  jsonPath: string;
  priority?: 1;
}

/** The parts of a kind's definition and page that are not in its schemas. */
interface KindPresentation {
  singular: string;
  /** One sentence. */
  description: string;
  /** Answer "is it up, where, on which code". */
  columns: readonly PrinterColumn[];
  scale?: { specReplicasPath: string; statusReplicasPath: string };
  /** The reasons that each condition of the kind may have. */
  conditions: Partial<Record<ConditionType, readonly Reason[]>>;
}

const condition = (type: ConditionType, part: 'status' | 'reason'): string =>
  `.status.conditions[?(@.type=="${type}")].${part}`;
const READY: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  description: 'Whether the current generation is active.',
  jsonPath: condition('Ready', 'status'),
};
const REASON: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  description: 'Why.',
  jsonPath: condition('Ready', 'reason'),
};
const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** `Reconciling` and `Stalled` have the reasons of `Ready` that they go with. */
function withProgress({
  Ready,
  ...others
}: Partial<Record<ConditionType, readonly Reason[]>> & { Ready: readonly Reason[] }): KindPresentation['conditions'] {
  const of = (type: 'Reconciling' | 'Stalled'): Partial<Record<ConditionType, readonly Reason[]>> => {
    const reasons = Ready.filter((reason) => progressType(reason) === type);
    return reasons.length === 0 ? {} : { [type]: reasons };
  };
  return { Ready, ...of('Reconciling'), ...of('Stalled'), ...others };
}

export const KIND_PRESENTATIONS: Record<Kind, KindPresentation> = {
  Function: {
    singular: 'function',
    description: 'A handler with a URL: which code answers which route, for whom, and how many instances run.',
    columns: [
      READY,
      REASON,
      { name: 'Route', type: 'string', description: 'The paths that the function answers.', jsonPath: '.spec.route' },
      {
        name: 'Revision',
        type: 'string',
        description: 'The artifact that calls go to.',
        jsonPath: '.status.shortRevision',
      },
      {
        name: 'Replicas',
        type: 'integer',
        description: 'Instances that take calls.',
        jsonPath: '.status.readyReplicas',
      },
      {
        name: 'URL',
        type: 'string',
        description: 'The URL at which the function is called.',
        jsonPath: '.status.url',
        priority: 1,
      },
      { name: 'Handler', type: 'string', jsonPath: '.spec.handler', priority: 1 },
      { name: 'Workload', type: 'string', jsonPath: '.status.activeWorkload', priority: 1 },
      AGE,
    ],
    scale: { specReplicasPath: '.spec.scaling.minReplicas', statusReplicasPath: '.status.replicas' },
    conditions: withProgress({
      Ready: ['Ready', 'Deleting', 'Disabled', 'Invalid', 'RouteConflict', 'KeyGroupNotFound', ...CODE_REASONS],
      RouteAccepted: ['Accepted', 'Deleting', 'RouteConflict', 'Invalid'],
      CodeReady: ['Built', 'Pinned', ...CODE_REASONS],
      Available: ['MinimumReplicasAvailable', 'Deleting', 'Disabled', 'RouteConflict', 'Invalid', ...CODE_REASONS],
    }),
  },
  CodeSource: {
    singular: 'codesource',
    description: 'Files that handlers are built from: uploaded, or read from a git repository.',
    columns: [
      { name: 'Type', type: 'string', description: 'manual or git.', jsonPath: '.spec.type' },
      READY,
      REASON,
      { name: 'Tree', type: 'string', description: 'Digest of the active tree.', jsonPath: '.status.shortTree' },
      { name: 'Files', type: 'integer', jsonPath: '.status.files', priority: 1 },
      AGE,
    ],
    conditions: withProgress({
      Ready: ['Stored', 'Deleting', 'DuplicateName', 'Disabled', 'NoFiles', 'TreeNotFound', 'NotSupported'],
      Degraded: ['DecryptionFailed'],
    }),
  },
  KeyGroup: {
    singular: 'keygroup',
    description: 'A group of API keys; functions name the groups whose keys may call them.',
    columns: [
      { name: 'Keys', type: 'integer', description: 'How many ApiKeys name the group.', jsonPath: '.status.keys' },
      READY,
      { name: 'Name', type: 'string', jsonPath: '.spec.displayName', priority: 1 },
      { name: 'Description', type: 'string', jsonPath: '.spec.description', priority: 1 },
      AGE,
    ],
    conditions: withProgress({ Ready: ['Ready', 'Deleting'] }),
  },
  ApiKey: {
    singular: 'apikey',
    description: 'One key of a group, which callers present.',
    columns: [
      { name: 'Group', type: 'string', jsonPath: '.spec.keyGroup' },
      { name: 'Enabled', type: 'boolean', jsonPath: '.spec.enabled' },
      // Not a date: kubectl shows dates as ages, and this one is in the future.
      { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt' },
      READY,
      REASON,
      AGE,
    ],
    conditions: withProgress({
      Ready: [
        'Ready',
        'Deleting',
        'Disabled',
        'Expired',
        'KeyGroupNotFound',
        'DuplicateValue',
        'DecryptionFailed',
        'SecretNotFound',
        'SecretKeyNotFound',
        'SecretRefused',
        'Invalid',
      ],
      Degraded: ['DecryptionFailed'],
    }),
  },
  FunctionSecret: {
    singular: 'functionsecret',
    description: 'A value that handlers read by name: seen by all functions, by one, or in calls with certain keys.',
    columns: [
      { name: 'Name', type: 'string', description: 'The name by which handlers read it.', jsonPath: '.spec.name' },
      { name: 'Scope', type: 'string', jsonPath: '.spec.scope' },
      READY,
      REASON,
      { name: 'Function', type: 'string', jsonPath: '.spec.function', priority: 1 },
      { name: 'Group', type: 'string', jsonPath: '.spec.keyGroup', priority: 1 },
      { name: 'Key', type: 'string', jsonPath: '.spec.apiKey', priority: 1 },
      AGE,
    ],
    conditions: withProgress({
      Ready: [
        'Ready',
        'Deleting',
        'OwnerNotFound',
        'DuplicateName',
        'DecryptionFailed',
        'SecretNotFound',
        'SecretKeyNotFound',
        'SecretRefused',
      ],
      Degraded: ['DecryptionFailed'],
    }),
  },
  Settings: {
    singular: 'settings',
    description: 'What can be changed while Wherry runs. There is one object, named wherry.',
    columns: [
      {
        name: 'Values',
        type: 'string',
        description: 'The settings that differ from the defaults.',
        jsonPath: '.spec.values',
      },
      READY,
      AGE,
    ],
    conditions: withProgress({ Ready: ['Ready', 'Deleting'] }),
  },
};
