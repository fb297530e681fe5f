import type { PartialMessage } from 'esbuild';
import type { RequiredSpecifier } from '../packages/package-registry.ts';
import type { BuildFailureReport } from '../build-process/protocol.ts';

export type FailureReason = BuildFailureReport['reason'];

/** An error that says its own reason; esbuild hands `detail` through and adds the place of the import. */
export const refusal = (reason: FailureReason, text: string): PartialMessage => ({ text, detail: { reason } });

/** Thrown in answers to esbuild, which makes an error of it and hands it on as `detail`. */
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

/** An import that has no answer yet: with `npm:`, else by what the source's package.json says. */
export const packageRequirement = (requirement: NonNullable<Detail['requirement']>, text: string): PartialMessage => {
  const detail: Detail = { reason: 'ImportNotFound', requirement };
  return { text, detail };
};

/** By source, the required `npm:` specifiers, each once. */
export type PackageRequirements = Record<string, RequiredSpecifier[]>;
