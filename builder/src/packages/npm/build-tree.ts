import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import Arborist, { type Edge, type Node } from '@npmcli/arborist';
import { nameOfFolder, type LockEntry } from '../check-lock.ts';
import type { RootManifest } from '../plan-install.ts';
import { InstallError, type InstallLimits, type ResolveOrder } from './protocol.ts';
import { manifestsOf, placeholder, type Manifests } from './manifests.ts';
import { peerConflict, type PeerConflict } from './peer-conflict.ts';
import type { RegistryClient } from './registry-client.ts';

type Entries = Record<string, LockEntry>;

export interface TreeTools {
  client: RegistryClient;
  limits: InstallLimits;
  /** Where folders may be created; they are removed afterwards. */
  folder: string;
}

/**
 * Decides where which version of each package lies, as npm does. An author's lock is used as it is, without a request
 * to the registry; what `npm:` specifiers add must not change it.
 * @throws InstallError
 */
export async function buildTree(
  order: ResolveOrder,
  { client, limits, folder }: TreeTools,
  signal: AbortSignal,
): Promise<Entries> {
  const own = await mkdtemp(path.join(folder, 'tree-'));
  try {
    return await treeIn(own, order, { client, limits }, signal);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function treeIn(
  folder: string,
  order: ResolveOrder,
  { client, limits }: Omit<TreeTools, 'folder'>,
  signal: AbortSignal,
): Promise<Entries> {
  const { manifests, stopped } = manifestsOf(client, limits, signal);
  const locked = order.lock && (await lockedTree(path.join(folder, 'lock'), order.own, order.lock, manifests));
  if (locked !== undefined && JSON.stringify(order.own) === JSON.stringify(order.root))
    return atMost(limits.packages, locked);
  const arborist = await arboristFor(
    path.join(folder, 'root'),
    order.root,
    { ...order.base, ...order.lock },
    manifests,
  );
  const tree = await arborist.buildIdealTree().catch((error: unknown) => {
    throw stopped() ?? describe(error);
  });
  // Otherwise an optional package that could not be fetched today would just be missing.
  const early = stopped();
  if (early !== undefined) throw early;
  signal.throwIfAborted();
  const packages = collect(tree);
  for (const [folder, entry] of Object.entries(locked ?? {})) expectSame(folder, entry, packages[folder]);
  return atMost(limits.packages, packages);
}

async function lockedTree(folder: string, own: RootManifest, lock: Entries, manifests: Manifests): Promise<Entries> {
  const arborist = await arboristFor(folder, own, lock, manifests);
  const tree = await arborist.loadVirtual().catch((error: unknown) => {
    throw describe(error);
  });
  return collect(tree, (edge) => {
    throw outdated(edge);
  });
}

async function arboristFor(folder: string, root: RootManifest, seed: Entries, manifests: Manifests): Promise<Arborist> {
  const packages = Object.entries(seed).map(
    ([at, entry]) =>
      [at, { ...entry, resolved: placeholder(entry.name ?? nameOfFolder(at), entry.version ?? '') }] as const,
  );
  await mkdir(folder);
  await writeFile(path.join(folder, 'package.json'), JSON.stringify(root));
  if (packages.length > 0) {
    const lock = { lockfileVersion: 3, requires: true, packages: { '': root, ...Object.fromEntries(packages) } };
    await writeFile(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
  }
  const refused = { allowGit: 'none', allowRemote: 'none', allowFile: 'none', allowDirectory: 'none' };
  return new Arborist({
    ...refused,
    path: folder,
    cache: folder,
    manifests,
    ignoreScripts: true,
    ignoreExtension: true,
    audit: false,
    lockfileVersion: 3,
    workspacesEnabled: false,
  });
}

/** What is reached from the root, by folder. */
function collect(root: Node, onProblem: (edge: Edge) => void = () => undefined): Entries {
  const needed = reach(root, (edge) => !isOptional(edge), onProblem);
  const all = reach(root, () => true);
  const entries = [...all].map(
    ([folder, node]) => [folder, { ...entryOf(node, all), ...(!needed.has(folder) && { optional: true }) }] as const,
  );
  return Object.fromEntries(entries);
}

function reach(
  root: Node,
  follow: (edge: Edge) => boolean,
  onProblem: (edge: Edge) => void = () => undefined,
): Map<string, Node> {
  const found = new Map<string, Node>();
  const queue = [root];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    for (const edge of node.edgesOut.values()) {
      if (isProblem(edge, node)) onProblem(edge);
      const { to } = edge;
      if (to === null || found.has(to.location) || !follow(edge) || !isTaken(edge, to)) continue;
      found.set(to.location, to);
      queue.push(to);
    }
  }
  return found;
}

const isOptional = ({ type }: Edge): boolean => type === 'optional' || type === 'peerOptional';

/** Locks that were written with `legacy-peer-deps` have no peers. */
const isProblem = ({ type, error, name }: Edge, { package: { bundleDependencies } }: Node): boolean =>
  (error === 'INVALID' || error === 'MISSING') &&
  (type === 'prod' || (type === 'optional' && error === 'INVALID')) &&
  !(bundleDependencies as string[] | undefined)?.includes(name);

/**
 * Packages for one platform alone hold machine code, which no function can load: where they are optional, they are left
 * out.
 */
const isTaken = ({ type }: Edge, to: Node): boolean =>
  !to.isLink && to.errors.length === 0 && !(type === 'optional' && isForPlatform(to.package));

const isForPlatform = ({ os, cpu, libc }: Record<string, unknown>): boolean =>
  [os, cpu, libc].some((one) => one !== undefined && one !== null);

const KEPT = [
  'dependencies',
  'optionalDependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'bundleDependencies',
] as const satisfies readonly (keyof LockEntry)[];

function entryOf(node: Node, all: ReadonlyMap<string, Node>): LockEntry {
  if (node.integrity === null)
    throw new InstallError(
      'PackageRefused',
      `${node.packageName}@${node.version} cannot be used: it has no integrity hash.`,
      [node.packageName],
    );
  // Those that are left out are not requested again either.
  const absent = [...node.edgesOut.values()]
    .filter(({ type, to }) => type === 'optional' && (to === null || all.get(to.location) !== to))
    .map(({ name }) => name);
  const wanted = Object.entries(node.package['optionalDependencies'] ?? {}).filter(([name]) => !absent.includes(name));
  const content: Record<string, unknown> = { ...node.package, optionalDependencies: Object.fromEntries(wanted) };
  const kept = KEPT.map((key) => [key, content[key]] as const).filter(
    ([, value]) => typeof value === 'object' && value !== null && Object.keys(value).length > 0,
  );
  const alias = node.packageName === nameOfFolder(node.location) ? {} : { name: node.packageName };
  return { ...alias, version: node.version, integrity: node.integrity, ...Object.fromEntries(kept) };
}

function atMost(limit: number, packages: Entries): Entries {
  const count = Object.keys(packages).length;
  if (count <= limit) return packages;
  throw new InstallError(
    'PackageTooLarge',
    `The source needs ${count} packages, but at most ${limit} are allowed. Depend on fewer.`,
    [],
  );
}

/** In the words of `npm ci`. */
function outdated({ name, spec, from, to }: Edge): InstallError {
  const wanted = `${name}@${spec}`;
  const dependent = from.location === '' ? 'package.json' : from.packageName;
  const problem =
    to === null
      ? `Missing: ${wanted} from lock file`
      : `Invalid: lock file's ${to.packageName}@${to.version} does not satisfy ${wanted}`;
  return new InstallError(
    'LockOutdated',
    `package.json and the lock do not agree. ${problem} (required by ${dependent}). Run npm install, and upload both.`,
    [name],
  );
}

function expectSame(folder: string, locked: LockEntry, found: LockEntry | undefined): void {
  if (found?.version === locked.version && found?.integrity === locked.integrity) return;
  const name = locked.name ?? nameOfFolder(folder);
  const instead = found === undefined ? 'none' : `${found.version ?? ''}`;
  const message = `An npm: import needs a different version of ${name} (${instead}) than the lock has (${locked.version ?? 'none'}). Add the package to package.json instead, run npm install, and upload both.`;
  throw new InstallError('LockOutdated', message, [name]);
}

/** Translates Arborist's errors into ours; our own errors pass through it unchanged. */
function describe(error: unknown): InstallError {
  if (error instanceof InstallError) return withDependent(error);
  const { code = '', message, package: name } = error as Error & { code?: string; package?: string };
  if (code === 'ERESOLVE') return peerConflict(error as PeerConflict);
  if (code.startsWith('EALLOW') || code === 'EUNSUPPORTEDPROTOCOL')
    return new InstallError(
      'PackageRefused',
      `${name ?? message} cannot be used: only packages from the registry are accepted.`,
      [],
    );
  if (code === 'EOVERRIDE' || code.startsWith('EINVALID'))
    return new InstallError('ManifestInvalid', `package.json: ${message}.`, []);
  if (code === 'EBADPLATFORM')
    return new InstallError('PackageRefused', `A package is for another platform: ${message}.`, []);
  return new InstallError('InstallFailed', `The dependency tree could not be built: ${message}.`, [], error);
}

/** Arborist notes on an error which folder's package required it. */
function withDependent(error: InstallError): InstallError {
  const { requiredBy = '.' } = error as InstallError & { requiredBy?: string };
  if (requiredBy === '.' || requiredBy === '') return error;
  const dependent = nameOfFolder(requiredBy);
  const { reason, message, packages } = error.failure;
  return new InstallError(reason, `${message} (Required by ${dependent}.)`, [...packages, dependent]);
}
