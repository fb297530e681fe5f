import { InstallError } from './protocol.ts';

interface Dependent {
  name?: string;
  version?: string;
}
interface PeerRequirement {
  name: string;
  spec: string;
  from?: Dependent | null;
}
interface There {
  name: string;
  version: string;
  dependents?: PeerRequirement[];
}
/** What Arborist reports with its error ERESOLVE, as far as we repeat it. */
export interface PeerConflict {
  edge?: PeerRequirement | null;
  current?: There | null;
  /** Set when packages that are to be together contradict each other, rather than one the root. */
  peerConflict?: { current?: There | null; peer?: There | null } | null;
}

/** Says which package needs which other one, and what conflicts with it. */
export function peerConflict({ edge, current, peerConflict: peers }: PeerConflict): InstallError {
  const requirement = peers?.peer?.dependents?.[0] ?? edge;
  if (!requirement) return new InstallError('PackageConflict', 'Packages require conflicting versions of each other.');
  const message = `${label(requirement.from)} needs ${requirement.name}@${requirement.spec} beside it, but ${describe(peers?.current ?? current)}. Choose compatible versions.`;
  return new InstallError('PackageConflict', message, [requirement.from?.name ?? requirement.name, requirement.name]);
}

function describe(there: There | null | undefined): string {
  if (!there) return 'another version is installed';
  const dependents = there.dependents?.map(({ from }) => label(from)).join(' and ') || 'another package';
  return `${dependents} needs ${there.name}@${there.version}`;
}

const label = (dependent: Dependent | null | undefined): string =>
  dependent?.name === undefined ? 'package.json' : `${dependent.name}@${dependent.version ?? ''}`;
