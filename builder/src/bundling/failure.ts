import type { PartialMessage } from 'esbuild';
import type { BuildFailure } from '../protocol.ts';

export type FailureReason = BuildFailure['reason'];

/** An error that says its own reason; esbuild hands `detail` through and adds the place of the import. */
export const refusal = (reason: FailureReason, text: string): PartialMessage => ({ text, detail: { reason } });
