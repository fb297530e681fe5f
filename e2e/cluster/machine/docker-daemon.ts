import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from '../command.ts';
import type { Machine } from './machine.ts';
import { areAlive, type Namespaces } from './namespaces.ts';

const START_LIMIT_MS = 60_000;
const POLL_MS = 100;

/**
 * Docker's `--privileged` requests every capability. Where the machine itself lacks CAP_SYS_RESOURCE, it cannot be
 * granted: this takes it out of what runc is requested to grant.
 */
const RUNC = `#!/bin/bash
previous=
for argument; do
  case $previous in
    --bundle | -b) file=$argument/config.json ;;
    --process | -p) file=$argument ;;
  esac
  previous=$argument
done
[ -z "$file" ] || sed -i 's/"CAP_SYS_RESOURCE",//g; s/,"CAP_SYS_RESOURCE"//g' "$file"
exec runc "$@"
`;

/** Where the daemon listens inside: /run is its namespaces' own. */
export const DOCKER_HOST = 'unix:///run/docker.sock';

/** The daemon's command line. Its images and containers lie in `folder`, their processes in the control group. */
export async function dockerDaemonCommand(folder: string, controlGroup: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const runc = path.join(folder, 'runc');
  await writeFile(runc, RUNC);
  await chmod(runc, 0o755);
  // The machine's own configuration of Docker is not ours.
  await writeFile(path.join(folder, 'daemon.json'), '{}');
  return [
    'dockerd',
    `--config-file=${path.join(folder, 'daemon.json')}`,
    `--data-root=${path.join(folder, 'data')}`,
    '--exec-root=/run/docker',
    '--pidfile=/run/docker.pid',
    `--host=${DOCKER_HOST}`,
    `--cgroup-parent=/${controlGroup}`,
    `--add-runtime=here=${runc}`,
    '--default-runtime=here',
  ];
}

/** Waits until the daemon answers. @throws Error with the end of its log */
export async function untilDockerAnswers(machine: Machine, namespaces: Namespaces, log: string): Promise<void> {
  const end = performance.now() + START_LIMIT_MS;
  for (;;) {
    const { code } = await runProgram('docker', ['version'], { start: machine.start });
    if (code === 0) return;
    if (!areAlive(namespaces) || performance.now() > end)
      throw new Error(`The Docker daemon did not start:\n${lastLines(log)}`);
    await delay(POLL_MS);
  }
}

function lastLines(log: string): string {
  return existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n').slice(-10).join('\n') : 'it printed nothing';
}
