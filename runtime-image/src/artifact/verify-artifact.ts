import { createHash } from 'node:crypto';

/** Whether the artifact is, byte for byte, the one that the revision names: its SHA-256 in lowercase hex (B4). */
export const isArtifactOf = (artifact: string, revision: string): boolean =>
  createHash('sha256').update(artifact).digest('hex') === revision;
