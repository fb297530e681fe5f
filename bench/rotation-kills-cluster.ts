/**
 * E5a, FT1 in a cluster: manager and operator are killed with SIGKILL 10 times each during rotations, with reads and
 * writes going on. Prints what was killed when, and what is wrong afterwards: nothing must be. It brings up a cluster of
 * its own, or takes the one that WHERRY_TEST_CLUSTER names, which must have no secrets.
 * Run: npm run bench -- rotation-kills-cluster [kills of each] [records]
 */
import { bringUp } from '@wherry/e2e/cluster/bring-up.ts';
import type { Cluster } from '@wherry/e2e/cluster/cluster.ts';
import { SYSTEM_NAMESPACE } from '@wherry/e2e/cluster/names.ts';
import { TEST_CLUSTER, testCluster } from '@wherry/e2e/cluster/test-cluster.ts';
import { ClusterHands } from '@wherry/e2e/testing/cluster-hands.ts';
import { programPod } from '@wherry/e2e/testing/cluster-pods.ts';
import {
  beginRotation,
  caller,
  keyStates,
  pause,
  Refused,
  rotationEnd,
  rotationStatus,
  RotationTraffic,
  valueOf,
  WRITTEN_GROUP,
  type Call,
} from '@wherry/embedded/testing/rotation-traffic.ts';
import { rounded } from './lib/statistics.ts';

const [KILLS = 10, RECORDS = 300] = process.argv.slice(2).map(Number);
const WRITTEN = 10;
const FUNCTIONS = 'wherry-functions';
/** A pass over the records takes about ten seconds: time to kill somebody in it. */
const PACE = { 'encryption.key-rotation.batch-size': '10', 'encryption.key-rotation.batch-sleep-ms': '200' };
/** How much of the values has the new key when the first of the two is killed, in turns; at -1 it has just been added. */
const POINTS = [-1, 0.1, 0.4, 0.7, 0.95];
const AWAY_MS = 120_000;
const ENDS_MS = 300_000;

type Program = 'manager' | 'operator';

/** While a program is away, the connection breaks, or the answer is that it is not available. */
function unlessAway(error: unknown): void {
  if (error instanceof TypeError || (error instanceof Refused && error.status >= 502)) return;
  throw error;
}

/** Repeats what ends when a program is killed. */
async function again(work: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await work().catch(unlessAway);
    await pause(200);
  }
}

/** The same requests, repeated while a program is away. */
function patient(call: Call): Call {
  return async (...request) => {
    for (const end = performance.now() + AWAY_MS; ;) {
      try {
        return await call(...request);
      } catch (error) {
        unlessAway(error);
        if (performance.now() > end) throw error;
        await pause(200);
      }
    }
  };
}

class ClusterRotations {
  readonly traffic = new RotationTraffic();
  readonly #cluster: Cluster;
  readonly #hands: ClusterHands;
  readonly #call: Call;

  constructor(cluster: Cluster, key: string) {
    this.#cluster = cluster;
    this.#hands = new ClusterHands(cluster);
    this.#call = caller(cluster.urls().management, key);
  }

  async prepare(): Promise<void> {
    await this.#call('PUT', '/api/settings', { settings: PACE });
    for (let at = 0; at < RECORDS; at += 1) {
      const name = `S${at}`;
      const scope = at < WRITTEN ? { scope: 'group', groupId: WRITTEN_GROUP } : { scope: 'global' };
      const body = { name, value: valueOf(name, 0), ...scope };
      const { id } = (await this.#call('POST', '/api/secrets', body)) as { id: string };
      if (at < WRITTEN) this.traffic.follow(name, id);
    }
  }

  /** Kills both programs as often as wanted, with reads and writes from the first kill to the end of the last rotation. */
  async killAll(): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    const { traffic } = this;
    const untilOver: Call = async (...request) => {
      if (signal.aborted) throw new TypeError('over');
      return this.#call(...request);
    };
    const work = [
      again(() => traffic.write(untilOver, 0), signal),
      again(() => traffic.write(untilOver, 1), signal),
      again(() => traffic.read(untilOver), signal),
    ];
    const kills = this.#killInTurns().finally(() => over.abort());
    await Promise.all([kills, ...work]);
  }

  async #killInTurns(): Promise<void> {
    for (let round = 0; round < KILLS; round += 1) {
      const point = await this.#rotatesUpTo(POINTS[round % POINTS.length] ?? 0);
      const order: Program[] = round % 2 === 0 ? ['manager', 'operator'] : ['operator', 'manager'];
      for (const program of order) await this.#kill(program);
      console.log(`kill ${round + 1} of ${KILLS} each: ${order.join(', then ')}, ${point}`);
      for (const program of order) await this.#hands.rolledOut(`wherry-${program}`);
    }
    const began = performance.now();
    await rotationEnd(patient(this.#call), ENDS_MS);
    console.log(`the last rotation ended ${rounded((performance.now() - began) / 1000, 0)} s after both were back`);
  }

  /** Has a rotation run until so much of it is done. @returns where it is */
  async #rotatesUpTo(share: number): Promise<string> {
    const call = patient(this.#call);
    for (const end = performance.now() + ENDS_MS; ;) {
      const status = await rotationStatus(call);
      const states = await keyStates(call);
      const isAdded = [...states.values()].includes('added');
      const { processed, total } = status;
      if (status.isInProgress && (isAdded ? share < 0 : share >= 0 && total > 0 && processed >= share * total))
        return `${isAdded ? 'its key was added' : `${processed} of ${total} values done`}, version ${Math.max(...states.keys())}`;
      if (!status.isInProgress) await beginRotation(call);
      if (performance.now() > end) throw new Error(`the rotation does not get on: ${JSON.stringify(status)}`);
    }
  }

  /** Its pod is deleted too, else the kubelet would wait ever longer before it starts the container again. */
  async #kill(program: Program): Promise<void> {
    const { metadata } = await programPod(this.#cluster, program);
    await this.#hands.killProcess(SYSTEM_NAMESPACE, metadata.name, program);
    const now = ['--grace-period=0', '--force', '--wait=false', '--ignore-not-found'];
    await this.#cluster.kubectl(['delete', 'pod', '-n', SYSTEM_NAMESPACE, metadata.name, ...now]);
  }

  /** After a last rotation that nobody disturbs, and without the older keys: each value needs the newest one. */
  async finish(): Promise<{ wrong: string[]; states: Map<number, string> }> {
    const call = patient(this.#call);
    await beginRotation(call);
    const status = await rotationEnd(call, ENDS_MS);
    console.log(`a rotation that nobody disturbs: ${JSON.stringify(status)}`);
    const before = await keyStates(call);
    console.log(`keys: ${[...before].map(([version, state]) => `${version} ${state}`).join(', ')}`);
    for (const [version, state] of before)
      if (state === 'retired') await call('DELETE', `/api/encryption-keys/${version}`);
    const degraded = await this.#cluster.kubectl([
      'get',
      'apikeys,functionsecrets,codesources',
      '-n',
      FUNCTIONS,
      '-o',
      'jsonpath={range .items[?(@.status.conditions[*].type=="Degraded")]}{.kind} {.metadata.name}{"\\n"}{end}',
    ]);
    const wrong = await this.traffic.look(call, RECORDS);
    return { wrong: [...wrong, ...degraded.split('\n').filter(Boolean)], states: await keyStates(call) };
  }
}

async function open(): Promise<{ cluster: Cluster; close: () => Promise<void> }> {
  if (process.env[TEST_CLUSTER] !== undefined) return { cluster: testCluster(), close: async () => undefined };
  const cluster = await bringUp({ name: 'bench' });
  return { cluster, close: () => cluster.down() };
}

async function keyOf(cluster: Cluster): Promise<string> {
  const where = ['-n', SYSTEM_NAMESPACE, 'wherry-management-key', '-o', 'jsonpath={.data.key}'];
  return Buffer.from(await cluster.kubectl(['get', 'secret', ...where]), 'base64').toString();
}

const began = performance.now();
const seconds = (): string => rounded((performance.now() - began) / 1000, 0);
const { cluster, close } = await open();
try {
  const rotations = new ClusterRotations(cluster, await keyOf(cluster));
  await rotations.prepare();
  console.log(`${RECORDS} records, prepared in ${seconds()} s`);
  await rotations.killAll();
  const { wrong, states } = await rotations.finish();
  const { acknowledged, reads } = rotations.traffic;
  console.log(`${acknowledged} writes acknowledged and ${reads} reads right meanwhile`);
  console.log(
    `keys without the retired ones: ${[...states].map(([version, state]) => `${version} ${state}`).join(', ')}`,
  );
  console.log(`values that are lost or do not open: ${wrong.length} (goal 0)`, ...wrong.slice(0, 10));
  console.log(`in all ${seconds()} s`);
  if (wrong.length > 0 || [...states.values()].join() !== 'active') process.exitCode = 1;
} finally {
  await close();
}
