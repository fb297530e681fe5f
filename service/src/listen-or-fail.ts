import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { isIPv6, type AddressInfo, type Server } from 'node:net';
import { StartError } from './start-error.ts';

/** A TCP port, on one address or on all that the machine has. */
export interface PortAddress {
  /** 0: any free one. */
  port: number;
  host?: string | undefined;
  reusePort?: boolean;
}

/** A Unix socket. */
export interface PathAddress {
  path: string;
  /** Its permissions; what a killed program left at the path is removed first. Without a mode both stay as they are. */
  mode?: number;
}

type Fault = readonly [reason: string, whatToDo: string];

const PORT_FAULTS: Readonly<Record<string, Fault>> = {
  EADDRINUSE: ['it is in use', 'Stop the program that listens there, or set another port.'],
  EACCES: ['this user may not open it', 'Set a port above 1023.'],
};
const NO_SUCH_HOST: Fault = ['this machine does not have that address', 'Set an address that it has.'];
const HOST_FAULTS: Readonly<Record<string, Fault>> = {
  EADDRNOTAVAIL: NO_SUCH_HOST,
  ENOTFOUND: NO_SUCH_HOST,
  EAI_AGAIN: NO_SUCH_HOST,
};
const PATH_FAULTS: Readonly<Record<string, Fault>> = {
  EADDRINUSE: ['something else is at that path', 'Remove it, or set another path.'],
  // libuv also reports ENOENT as this.
  EACCES: [
    'its folder does not exist, or this user may not write to it',
    'Create the folder or correct its permissions, or set another path.',
  ],
};

/**
 * Makes the server listen.
 * @param setting the setting that names the port or the path, for the error
 * @param hostSetting the one that names the host, where there is one
 * @returns the port in use; 0 for a path
 * @throws StartError that names the setting, the address, the reason and what to do
 */
export async function listenOrFail(
  server: Server,
  address: PortAddress | PathAddress,
  setting: string,
  hostSetting = setting,
): Promise<number> {
  try {
    const { path, mode } = { path: undefined, mode: undefined, ...address };
    if (path !== undefined && mode !== undefined) await rm(path, { force: true });
    server.listen(address);
    await once(server, 'listening');
    if (path !== undefined && mode !== undefined) await chmod(path, mode);
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, address, { setting, hostSetting });
  }
  return 'path' in address ? 0 : (server.address() as AddressInfo).port;
}

/** One line for a person who set the address. */
export function listenError(
  error: NodeJS.ErrnoException,
  address: PortAddress | PathAddress,
  names: { setting: string; hostSetting: string },
): StartError {
  const code = error.code ?? '';
  const known = 'path' in address ? PATH_FAULTS[code] : (HOST_FAULTS[code] ?? PORT_FAULTS[code]);
  const [reason, whatToDo] = known ?? ['the system does not allow it', 'Set another one.'];
  const setting = code in HOST_FAULTS ? names.hostSetting : names.setting;
  return new StartError(
    `${setting}: cannot listen on ${nameOf(address)}: ${reason} (${error.code ?? error.message}). ${whatToDo}`,
    error,
  );
}

function nameOf(address: PortAddress | PathAddress): string {
  if ('path' in address) return address.path;
  const { host, port } = address;
  if (host === undefined) return `port ${port}`;
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
