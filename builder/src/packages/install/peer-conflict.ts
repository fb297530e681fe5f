import { InstallError } from './install-error.ts';

interface Asker {
  name?: string;
  version?: string;
}
interface Ask {
  name: string;
  spec: string;
  from?: Asker | null;
}
interface There {
  name: string;
  version: string;
  dependents?: Ask[];
}
/** What Arborist tells with its error ERESOLVE, as far as we repeat it. */
export interface PeerConflict {
  edge?: Ask | null;
  current?: There | null;
  /** Set when packages that are to be together contradict each other, rather than one the root. */
  peerConflict?: { current?: There | null; peer?: There | null } | null;
}

/** Says which package needs which other, and what stands against it. */
export function peerConflict({ edge, current, peerConflict: peers }: PeerConflict): InstallError {
  const ask = peers?.peer?.dependents?.[0] ?? edge;
  if (!ask)
    return new InstallError('PackageConflict', 'Packages ask for versions of each other that cannot be together.');
  const message = `${label(ask.from)} needs ${ask.name}@${ask.spec} beside it, and ${describe(peers?.current ?? current)}. Ask for versions that fit.`;
  return new InstallError('PackageConflict', message, [ask.from?.name ?? ask.name, ask.name]);
}

function describe(there: There | null | undefined): string {
  if (!there) return 'another is there';
  const askers = there.dependents?.map(({ from }) => label(from)).join(' and ') || 'another';
  return `${askers} needs ${there.name}@${there.version}`;
}

const label = (asker: Asker | null | undefined): string =>
  asker?.name === undefined ? 'package.json' : `${asker.name}@${asker.version ?? ''}`;
