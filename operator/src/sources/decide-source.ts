import { degraded, setConditions, type ConditionDecision } from '@wherry/core/resources/conditions.ts';
import type { CodeSourceStatus } from '@wherry/core/resources/code-source.ts';
import { displayName, type CodeSourceResource } from '@wherry/core/resources/kinds.ts';
import type { Digest } from '@wherry/core/resources/meta.ts';
import { deletingProblem, type Problem } from '../controller/ready-conditions.ts';

/** The state in the content store of the tree that a manual source names. */
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

/** What a source's status is decided from. */
interface SourceFacts {
  named: NamedTree;
  /** `metadata.name` of the source that handlers find under the name of this one. */
  holder: string | undefined;
  /** Why one of its values cannot be read. */
  unread: Problem | undefined;
  now: number;
}

/** Decides a source's whole status: the active tree moves only to one that is there. Undefined fields are absent. */
export function decideSource(
  source: CodeSourceResource,
  { named, holder, unread, now }: SourceFacts,
): Unset<CodeSourceStatus> {
  const { generation } = source.metadata;
  const { ready: own, active } = decide(source, named);
  const ready = deleting(source) ?? duplicate(source, holder) ?? own;
  return {
    ...source.status,
    ...active,
    shortTree: active.tree?.slice(0, 12),
    observedGeneration: generation,
    conditions: setConditions(source.status.conditions, [{ type: 'Ready', ...ready }, ...degraded(unread)], {
      generation,
      now,
    }),
  };
}

function deleting(source: CodeSourceResource): Verdict['ready'] | undefined {
  const problem = deletingProblem(source);
  return problem && conditionFalse(problem.reason, problem.message);
}

function duplicate(source: CodeSourceResource, holder: string | undefined): Verdict['ready'] | undefined {
  const { name } = source.metadata;
  if (holder === undefined || holder === name) return undefined;
  return conditionFalse(
    'DuplicateName',
    `The sources ${name} and ${holder} have the same name, ${displayName(source)}: functions are built from the files of ${holder}, which is older. Write another spec.displayName, or delete one of the two sources.`,
  );
}

function decide(source: CodeSourceResource, named: NamedTree): Verdict {
  const { tree, files, bytes } = source.status;
  const kept = { tree, files, bytes };
  if (source.spec.type === 'git') {
    return {
      ready: conditionFalse(
        'NotSupported',
        'Git sources are not supported yet: set spec.type to manual and upload the files.',
      ),
      active: kept,
    };
  }
  if (source.spec.enabled) return decideManual(named, kept);
  const disabled = conditionFalse(
    'Disabled',
    'The source is disabled: its files stay as they are, and functions built from it keep running.',
  );
  if (tree !== undefined) return { ready: disabled, active: kept };
  // The tree of a disabled source does not change, but after a restore it is made active nevertheless.
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
          `The tree ${named.digest} of spec.manual.tree is not in the content store: upload its files again, or set spec.manual.tree to a stored tree.`,
        ),
        active: kept,
      };
    case 'invalid':
      return {
        ready: conditionFalse(
          'TreeNotFound',
          `The blob ${named.digest} of spec.manual.tree is not a tree's manifest: upload the files again.`,
        ),
        active: kept,
      };
    case 'stored':
      return {
        ready:
          named.files === 0
            ? NO_FILES
            : conditionTrue(`${counted(named.files, 'file')}, ${counted(named.bytes, 'byte')}.`),
        active: { tree: named.digest, files: named.files, bytes: named.bytes },
      };
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

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
