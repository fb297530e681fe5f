import { setConditions, type ConditionDecision } from '@wherry/core/conditions.ts';
import type { CodeSourceStatus } from '@wherry/core/resources/code-source.ts';
import type { CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';

/** What the content store says of the tree that a manual source names. */
export type NamedTree =
  | { state: 'none' }
  | { state: 'missing'; digest: Digest }
  | { state: 'invalid'; digest: Digest }
  | { state: 'stored'; digest: Digest; files: number; bytes: number };

type Unset<T> = { [F in keyof T]: T[F] | undefined };
type ActiveTree = Unset<Pick<CodeSourceStatus, 'tree' | 'files' | 'bytes'>>;
interface Verdict {
  ready: Omit<ConditionDecision, 'type'>;
  active: ActiveTree;
}

/** Decides a source's whole status: the active tree moves only to one that is there. Undefined fields are absent. */
export function decideSource(source: CodeSourceResource, named: NamedTree, now: number): Unset<CodeSourceStatus> {
  const { generation } = source.metadata;
  const { ready, active } = decide(source, named);
  return {
    ...source.status,
    ...active,
    shortTree: active.tree?.slice(0, 12),
    observedGeneration: generation,
    conditions: setConditions(source.status.conditions, [{ type: 'Ready', ...ready }], { generation, now }),
  };
}

function decide(source: CodeSourceResource, named: NamedTree): Verdict {
  const { tree, files, bytes } = source.status;
  const kept = { tree, files, bytes };
  if (source.spec.type === 'git') {
    return {
      ready: conditionFalse(
        'NotSupported',
        'Git sources are not supported yet: make it a manual source and upload its files.',
      ),
      active: kept,
    };
  }
  if (source.spec.enabled) return decideManual(named, kept);
  const disabled = conditionFalse(
    'Disabled',
    'The source is not enabled: its files stay as they are, and what runs from it keeps running.',
  );
  if (tree !== undefined) return { ready: disabled, active: kept };
  // It moves nowhere; but one that was restored has its tree made active all the same.
  const { ready, active } = decideManual(named, kept);
  return { ready: ready.reason === 'TreeNotFound' ? ready : disabled, active };
}

function decideManual(named: NamedTree, kept: ActiveTree): Verdict {
  switch (named.state) {
    case 'none':
      return { ready: NO_FILES, active: { tree: undefined, files: 0, bytes: 0 } };
    case 'missing':
      return {
        ready: conditionFalse(
          'TreeNotFound',
          `The tree ${named.digest} of spec.manual.tree is not in the content store: upload it, or name one that is.`,
        ),
        active: kept,
      };
    case 'invalid':
      return {
        ready: conditionFalse('TreeNotFound', `The blob ${named.digest} of spec.manual.tree is not a tree's manifest.`),
        active: kept,
      };
    case 'stored':
      return {
        ready: named.files === 0 ? NO_FILES : conditionTrue(`${named.files} files, ${named.bytes} bytes.`),
        active: { tree: named.digest, files: named.files, bytes: named.bytes },
      };
  }
}

const conditionTrue = (message: string): Omit<ConditionDecision, 'type'> => ({
  status: 'True',
  reason: 'Stored',
  message,
});
const conditionFalse = (reason: ConditionDecision['reason'], message: string): Omit<ConditionDecision, 'type'> => ({
  status: 'False',
  reason,
  message,
});
const NO_FILES = conditionFalse('NoFiles', 'The source has no files: upload them.');
