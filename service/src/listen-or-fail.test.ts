import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { listenOrFail, type PathAddress, type PortAddress } from './listen-or-fail.ts';

describe('listenOrFail', () => {
  let folder: string;
  const servers: Server[] = [];
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'wherry-listen-'))));
  afterEach(async () => {
    for (const server of servers.splice(0).filter(({ listening }) => listening)) {
      server.close();
      await once(server, 'close');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  function made(): Server {
    const server = createServer();
    servers.push(server);
    return server;
  }
  const listen = (address: PortAddress | PathAddress): Promise<number> =>
    listenOrFail(made(), address, 'THE_PORT', 'THE_HOST');
  const said = (address: PortAddress | PathAddress): Promise<string> =>
    listen(address).then(
      () => 'nothing',
      (error: Error) => `${error.name}: ${error.message}`,
    );

  it('gives the port in use', async () => {
    const server = made();
    const port = await listenOrFail(server, { port: 0, host: '127.0.0.1' }, 'THE_PORT');
    expect(server.address()).toMatchObject({ address: '127.0.0.1', port } satisfies Partial<AddressInfo>);
    expect(port).toBeGreaterThan(0);
  });

  it('names setting, address, reason and what to do where a port is in use', async () => {
    const port = await listen({ port: 0 });
    expect(await said({ port })).toBe(
      `StartError: THE_PORT: cannot listen on port ${port}: it is in use (EADDRINUSE). Stop the program that listens there, or set another port.`,
    );
  });

  it('names the setting of the host where the machine does not have its address', async () => {
    expect(await said({ port: 0, host: '192.0.2.1' })).toBe(
      'StartError: THE_HOST: cannot listen on 192.0.2.1:0: this machine does not have that address (EADDRNOTAVAIL). Set an address that it has.',
    );
  });

  it('says where a Unix socket cannot be made in the folder', async () => {
    expect(await said({ path: '/no/such/folder/x.sock' })).toBe(
      'StartError: THE_PORT: cannot listen on /no/such/folder/x.sock: its folder does not exist, or this user may not write to it (EACCES). ' +
        'Create the folder or correct its permissions, or set another path.',
    );
  });

  it('without a mode leaves what is at a path alone', async () => {
    const file = path.join(folder, 'x.sock');
    writeFileSync(file, 'precious');
    expect(await said({ path: file })).toBe(
      `StartError: THE_PORT: cannot listen on ${file}: something else is at that path (EADDRINUSE). Remove it, or set another path.`,
    );
    expect(statSync(file).size).toBe('precious'.length);
  });

  it('with a mode replaces what a killed program left, and opens the path to those alone', async () => {
    const file = path.join(folder, 'x.sock');
    writeFileSync(file, '');
    expect(await listen({ path: file, mode: 0o600 })).toBe(0);
    expect(statSync(file).isSocket()).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
