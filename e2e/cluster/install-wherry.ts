import path from 'node:path';
import { root } from '../tooling/run-command.ts';
import type { Cluster } from './cluster.ts';
import { findOrBuildImages } from './images/build-images.ts';
import { progress } from './progress.ts';
import { kindName, RELEASE, SYSTEM_NAMESPACE } from './names.ts';

const CHART = path.join(root, 'charts/wherry');
const VOLUMES = 3;

/** Values of the chart, as an object. */
export type ChartValues = Record<string, unknown>;

/**
 * Builds the images and puts them on the node, makes volumes, and installs or upgrades the release with these values.
 */
export async function installWherry(cluster: Cluster, values: ChartValues = {}): Promise<void> {
  const images = await loadImages(cluster);
  if (cluster.way === 'namespaces') await makeVolumes(cluster);
  await progress('  helm upgrade --install', async () => {
    const where = ['--namespace', SYSTEM_NAMESPACE, '--create-namespace'];
    // JSON is YAML.
    const args = ['--values', '-', ...restartOn(images), '--wait', '--timeout', '5m'];
    const { code, stderr } = await cluster.run('helm', ['upgrade', '--install', RELEASE, CHART, ...where, ...args], {
      input: JSON.stringify(values),
    });
    if (code !== 0) throw new Error(`Wherry could not be installed: ${stderr.trim()}\n${await explain(cluster)}`);
  });
}

/** The images' tag stays the same when they change: pods start again by an annotation that does not. */
function restartOn(images: string): string[] {
  if (images === '') return [];
  return ['operator', 'router', 'manager'].flatMap((part) => [
    '--set-string',
    `${part}.podAnnotations.wherry\\.dev/images=${images}`,
  ]);
}

/** The state of the programs' pods, and the end of their output. */
async function explain(cluster: Cluster): Promise<string> {
  const inSystem = ['--namespace', SYSTEM_NAMESPACE];
  const requested = [
    ['get', 'pods', ...inSystem, '-o', 'wide'],
    ['get', 'events', ...inSystem, '--field-selector', 'type=Warning', '--sort-by', '.lastTimestamp'],
    [
      'logs',
      ...inSystem,
      '--selector',
      'app.kubernetes.io/part-of=wherry',
      '--all-containers',
      '--prefix',
      '--tail',
      '10',
    ],
  ];
  const answers = await Promise.all(requested.map((args) => cluster.run('kubectl', args, { timeoutMs: 20_000 })));
  return answers.map(({ stdout, stderr }) => stdout + stderr).join('\n');
}

/**
 * A cluster that KUBECONFIG named gets its images from a registry, which its values name.
 * @returns what distinguishes these images from others; empty when none were loaded
 */
async function loadImages(cluster: Cluster): Promise<string> {
  if (cluster.way === 'given') return '';
  const { archive } = await findOrBuildImages(cluster.start);
  await progress('  images to the node', async () => {
    const { code, stderr } = await cluster.run('kind', [
      'load',
      'image-archive',
      archive,
      '--name',
      kindName(cluster.name),
    ]);
    if (code !== 0) throw new Error(`The images could not be loaded: ${stderr.trim()}`);
  });
  return path.basename(archive, '.tar');
}

/** Nothing provisions volumes on our node: these lie on its disk, and go with it. */
async function makeVolumes(cluster: Cluster): Promise<void> {
  const node = `${kindName(cluster.name)}-control-plane`;
  const names = Array.from({ length: VOLUMES }, (_, index) => `volume-${index + 1}`);
  const folders = names.map((name) => `/var/lib/wherry-volumes/${name}`);
  await cluster.run('docker', ['exec', node, 'mkdir', '-p', ...folders]);
  const volumes = names.map((name, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '100Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'standard',
      persistentVolumeReclaimPolicy: 'Retain',
      // Not hostPath: of a local volume the kubelet hands the files to the pod's group.
      local: { path: folders[index] },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
  }));
  await cluster.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: volumes }));
}
