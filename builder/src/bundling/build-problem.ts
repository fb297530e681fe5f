import type { PartialMessage } from 'esbuild';
import type { RequiredSpecifier } from '../packages/package-registry.ts';
import type { BuildFailureReport } from '../build-process/protocol.ts';

export type FailureReason = BuildFailureReport['reason'];

/** An error that carries its own reason; esbuild passes `detail` through and adds the location of the import. */
export const refusal = (reason: FailureReason, text: string): PartialMessage => ({ text, detail: { reason } });

/** Thrown in answers to esbuild, which turns it into an error and passes it on as `detail`. */
export class BuildProblem extends Error {
  override readonly name = 'BuildProblem';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What our errors carry through esbuild. */
export interface Detail {
  reason: FailureReason;
  /** The import needs packages of this source, which are not known yet. */
  requirement?: { source: string; specifier: string | undefined; name: string };
}

/** An import that cannot be resolved yet: with `npm:`, otherwise by the source's package.json. */
export const packageRequirement = (requirement: NonNullable<Detail['requirement']>, text: string): PartialMessage => {
  const detail: Detail = { reason: 'ImportNotFound', requirement };
  return { text, detail };
};

/** By source, the required `npm:` specifiers, each once. */
export type PackageRequirements = Record<string, RequiredSpecifier[]>;
