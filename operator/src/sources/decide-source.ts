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
type TreeInForce = Unset<Pick<CodeSourceStatus, 'tree' | 'files' | 'bytes'>>;
interface Verdict {
  ready: Omit<ConditionDecision, 'type'>;
  force: TreeInForce;
}

/** Decides a source's whole status: the tree in force moves only to one that is there. Undefined fields are absent. */
export function decideSource(source: CodeSourceResource, named: NamedTree, now: number): Unset<CodeSourceStatus> {
  const { generation } = source.metadata;
  const { ready, force } = decide(source, named);
  return {
    ...source.status,
    ...force,
    shortTree: force.tree?.slice(0, 12),
    observedGeneration: generation,
    conditions: setConditions(source.status.conditions, [{ type: 'Ready', ...ready }], { generation, now }),
  };
}

function decide(source: CodeSourceResource, named: NamedTree): Verdict {
  const { tree, files, bytes } = source.status;
  const kept = { tree, files, bytes };
  if (source.spec.type === 'git') {
    return {
      ready: no('NotSupported', 'Git sources are not supported yet: make it a manual source and upload its files.'),
      force: kept,
    };
  }
  // A source that is not enabled moves nowhere; one that was restored has its tree put in force all the same.
  if (!source.spec.enabled && tree !== undefined) {
    return {
      ready: no(
        'Disabled',
        'The source is not enabled: its files stay as they are, and what runs from it keeps running.',
      ),
      force: kept,
    };
  }
  switch (named.state) {
    case 'none':
      return { ready: yes('The source has no files yet.'), force: { tree: undefined, files: 0, bytes: 0 } };
    case 'missing':
      return {
        ready: no(
          'TreeNotFound',
          `The tree ${named.digest} of spec.manual.tree is not in the content store: upload it, or name one that is.`,
        ),
        force: kept,
      };
    case 'invalid':
      return {
        ready: no('TreeNotFound', `The blob ${named.digest} of spec.manual.tree is not a tree's manifest.`),
        force: kept,
      };
    case 'stored':
      return {
        ready: yes(`${named.files} files, ${named.bytes} bytes.`),
        force: { tree: named.digest, files: named.files, bytes: named.bytes },
      };
  }
}

const yes = (message: string): Omit<ConditionDecision, 'type'> => ({ status: 'True', reason: 'Stored', message });
const no = (reason: ConditionDecision['reason'], message: string): Omit<ConditionDecision, 'type'> => ({
  status: 'False',
  reason,
  message,
});
