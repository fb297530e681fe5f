import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { ApiClient, eventually } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';
import { descendants } from '../testing/processes.ts';

/*
 * What a build that was taken over could read, by a program of its user that no permission model holds: under root,
 * builds and the process that has the registry's token have users of their own.
 */

const TOKEN = `npm_${randomUUID()}`;
const isRoot = process.getuid?.() === 0;

/**
 * Tries to read files, and a process' memory for a text. Prints what came of each: `read`, `found` or the error's code.
 */
const ATTACK = `
  const { closeSync, openSync, readdirSync, readFileSync, readSync } = require('node:fs');
  const [pids, files, text] = JSON.parse(process.argv[1]);
  const tried = (act) => { try { return act(); } catch ({ code }) { return code; } };
  const search = (pid) => {
    const memory = openSync('/proc/' + pid + '/mem', 'r');
    for (const line of readFileSync('/proc/' + pid + '/maps', 'latin1').split('\\n')) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined) continue;
      const [start, size] = [parseInt(from, 16), parseInt(to, 16) - parseInt(from, 16)];
      const bytes = Buffer.alloc(size);
      if (tried(() => readSync(memory, bytes, 0, size, start)) > 0 && bytes.includes(text)) return 'found';
    }
    closeSync(memory);
    return 'not found';
  };
  const results = {};
  for (const [name, pid] of Object.entries(pids)) {
    results[name + ' environ'] = tried(() => readFileSync('/proc/' + pid + '/environ') && 'read');
    results[name + ' fd'] = tried(() => readdirSync('/proc/' + pid + '/fd') && 'read');
    results[name + ' mem'] = tried(() => search(pid));
    results[name + ' cmdline'] = tried(() => (readFileSync('/proc/' + pid + '/cmdline', 'latin1').includes(text) ? 'found' : 'not found'));
  }
  for (const file of files) results[file] = tried(() => readFileSync(file) && 'read');
  console.log(JSON.stringify(results));`;

let registry: Server;
let authorization: string | undefined;
let service: Service;

beforeAll(async () => {
  // It knows no package: whoever requests one has shown the token by then.
  registry = createServer((request, response) => {
    authorization = request.headers.authorization;
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  service = await startService({ environment: { WHERRY_NPM_REGISTRY: url, WHERRY_NPM_TOKEN: TOKEN } });
}, 40_000);

afterAll(async () => {
  await service?.dispose();
  registry?.close();
});

const processOf = (sign: string): number => {
  const found = descendants(service.process.pid!).find(({ command }) => command.includes(sign));
  if (found === undefined) throw new Error(`no process of the service has ${sign} in its command line`);
  return found.pid;
};
const userOf = (pid: number): number => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

function attack(uid: number, pids: Record<string, number>): Record<string, string> {
  const files = ['keys.json', 'wherry.db', 'telemetry.db'].map((name) => path.join(service.dataDirectory, name));
  const text = execFileSync(process.execPath, ['--eval', ATTACK, JSON.stringify([pids, files, TOKEN])], {
    uid,
    gid: uid,
    cwd: '/',
    env: {},
    encoding: 'utf8',
  });
  return JSON.parse(text) as Record<string, string>;
}

(isRoot ? it : it.skip)(
  "B1: a program of the builds' user reads nothing of the process that has the registry's token, nor of the service",
  async () => {
    const api = new ApiClient(service.managementUrl, service.managementKey!);
    await api.source('packages', { 'h.ts': "import one from 'npm:one@1'; export default () => one;" });
    const id = await api.function({ name: 'packages', handler: 'packages/h.ts', route: '/packages' });
    await api.functionWhen(id, ({ status }) => JSON.stringify(status).includes('PackageNotFound'), 60_000);
    expect(authorization).toBe(`Bearer ${TOKEN}`);
    // After a build, the process for the next one stands ready.
    const build = await eventually(() => processOf('/esbuild/lib/main.js'));
    const pids = { installer: processOf('wherry-install-'), service: service.process.pid! };
    const users = [userOf(build), userOf(pids.installer), userOf(pids.service)];
    expect(new Set(users).size).toBe(3);

    const results = attack(userOf(build), pids);
    const cmdlines = ['installer cmdline', 'service cmdline'];
    expect(
      Object.entries(results).filter(
        ([name, result]) => !cmdlines.includes(name) && !['EACCES', 'EPERM'].includes(result),
      ),
    ).toEqual([]);
    // Every user reads these.
    expect(cmdlines.map((name) => results[name])).toEqual(['not found', 'not found']);
    // The attack is one that finds what is there, where it may.
    expect(attack(0, pids)).toMatchObject({
      'installer mem': 'found',
      'installer environ': 'read',
      'service mem': 'found',
      'service environ': 'read',
    });
  },
  90_000,
);
