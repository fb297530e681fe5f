import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { mustRun } from './command.ts';
import type { Cluster } from './cluster.ts';
import { cacheFolder } from './folders.ts';

/** A registry of npm packages that pods can reach. */
interface ClusterRegistry {
  /** Where pods find it. */
  url: string;
  stop(): Promise<void>;
}

const PROGRAM = `
const { runServer } = require(process.argv[1]);
runServer(JSON.parse(process.argv[2])).then((app) => {
  const server = app.listen(0, "127.0.0.1", () => console.log("PORT=" + server.address().port));
});`;

/**
 * Starts verdaccio, a real registry, on this machine, and leads pods to it. It has what the machine's registry has, and
 * keeps in the cache what was requested once: a cluster in namespaces has no access to the outside.
 */
export async function startRegistry(cluster: Cluster): Promise<ClusterRegistry> {
  const uplink = (await mustRun('npm', ['config', 'get', 'registry'])).trim();
  const folder = cacheFolder('npm-registry');
  await mkdir(folder, { recursive: true });
  // From the builder's development dependencies.
  const verdaccio = createRequire(import.meta.url).resolve('verdaccio');
  const program = [process.execPath, '--eval', PROGRAM, verdaccio, JSON.stringify(configuration(folder, uplink))];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...program], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  const ended = once(child, 'exit');
  while (!said.includes('PORT=')) {
    await Promise.race([once(child.stdout, 'data'), ended]);
    if (child.exitCode !== null) throw new Error(`verdaccio did not start: ${said}`);
  }
  const port = Number(/PORT=(\d+)/.exec(said)?.[1]);
  const { url, close } = await cluster.publish({ host: '127.0.0.1', port });
  return {
    url,
    async stop() {
      await close();
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function configuration(folder: string, uplink: string): object {
  return {
    storage: path.join(folder, 'storage'),
    self_path: path.join(folder, 'config.yaml'),
    configPath: path.join(folder, 'config.yaml'),
    uplinks: { machine: { url: uplink, maxage: '1h' } },
    packages: { '**': { access: '$all', publish: '$all', proxy: 'machine' } },
    server: { keepAliveTimeout: 60 },
    log: { type: 'stdout', format: 'json', level: 'fatal' },
  };
}
