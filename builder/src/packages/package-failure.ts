import type { SourceLocation } from '@wherry/core/ports/builder.ts';
import type { PackageFailure, PackageFailureReason } from './package-registry.ts';

const HEALS: ReadonlySet<PackageFailureReason> = new Set([
  'RegistryUnavailable',
  'PackageCorrupt',
  'InstallTimeout',
  'InstallFailed',
]);

/** A failure; whether to try again follows from its reason. */
export function packageFailure(
  reason: PackageFailureReason,
  message: string,
  location?: SourceLocation,
): PackageFailure {
  return { reason, message, ...(location && { location }), retry: HEALS.has(reason) };
}

/**
 * Where a JSON text first has a key: for messages, so a wrong result does no harm. The start of the file when it has
 * none.
 */
export function placeOfKey(file: string, text: string, key: string): SourceLocation {
  const quoted = JSON.stringify(key).replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const before = text.slice(0, Math.max(0, text.search(new RegExp(String.raw`${quoted}\s*:`)))).split('\n');
  return { file, line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
