import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { makeTarball } from './make-tarball.ts';

interface Publication {
  name: string;
  version: string;
  files?: Record<string, string>;
  tarball?: Buffer;
  [field: string]: unknown;
}

/**
 * verdaccio, a real registry, in a process of its own, with what the test publishes and no other registry behind it.
 */
export interface TestRegistry {
  url: string;
  /** Returns the integrity. */
  publish(publication: Publication): Promise<string>;
  /** A token of a new user, who alone may read packages of the scope `@private`. */
  token(): Promise<string>;
  stop(): Promise<void>;
}

const PROGRAM = `
const { runServer } = require(process.argv[1]);
runServer(JSON.parse(process.argv[2])).then((app) => {
  const server = app.listen(0, '127.0.0.1', () => console.log('PORT=' + server.address().port));
});`;

export async function startTestRegistry(): Promise<TestRegistry> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-verdaccio-'));
  const child = spawn(
    process.execPath,
    ['-e', PROGRAM, createRequire(import.meta.url).resolve('verdaccio'), JSON.stringify(configuration(folder))],
    {
      cwd: folder,
      env: { HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const port = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`verdaccio did not start: ${said}`)));
    child.stdout.on('data', (text: Buffer) => {
      said += text.toString();
      const found = /PORT=(\d+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    publish: (publication) => publish(url, publication),
    token: () => newUser(url),
    async stop() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const configuration = (folder: string): object => ({
  storage: path.join(folder, 'storage'),
  self_path: path.join(folder, 'config.yaml'),
  configPath: path.join(folder, 'config.yaml'),
  auth: { htpasswd: { file: path.join(folder, 'htpasswd'), max_users: 100, algorithm: 'bcrypt', rounds: 4 } },
  security: { api: { legacy: true } },
  uplinks: {},
  packages: {
    '@private/*': { access: '$authenticated', publish: '$all' },
    '**': { access: '$all', publish: '$all' },
  },
  server: { keepAliveTimeout: 60 },
  max_body_size: '100mb',
  log: { type: 'stdout', format: 'json', level: 'fatal' },
});

async function publish(url: string, { files, tarball: given, ...manifest }: Publication): Promise<string> {
  const { name, version } = manifest;
  const tarball =
    given ??
    makeTarball({
      'package.json': JSON.stringify(manifest),
      'index.js': `module.exports = ${JSON.stringify(`${name}@${version}`)};\n`,
      ...files,
    });
  const file = `${name}-${version}.tgz`;
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = {
    tarball: `${url}${name}/-/${file}`,
    integrity,
    shasum: createHash('sha1').update(tarball).digest('hex'),
  };
  const body = {
    _id: name,
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist } },
    _attachments: {
      [file]: { content_type: 'application/octet-stream', data: tarball.toString('base64'), length: tarball.length },
    },
  };
  const response = await fetch(new URL(name.replace('/', '%2f'), url), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok)
    throw new Error(`${name}@${version} was not published: ${response.status} ${await response.text()}`);
  return integrity;
}

async function newUser(url: string): Promise<string> {
  const name = `user${Math.random().toString(36).slice(2)}`;
  const body = JSON.stringify({ name, password: 'a password for tests' });
  const response = await fetch(new URL(`-/user/org.couchdb.user:${name}`, url), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { token } = (await response.json()) as { token?: string };
  if (token === undefined) throw new Error(`no token: ${response.status}`);
  return token;
}
