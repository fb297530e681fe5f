import { runtimeNodeFlags } from '@wherry/runtime/node-flags.ts';
import { SETPRIV_OPTIONS } from './find-setpriv.ts';

/** The options that a child process is started with. */
interface LaunchOptions {
  node: string;
  bundle: string;
  /** The only folder that its code may read and write. */
  temporaryFolder: string;
  memoryMiB: number;
  /** Path of util-linux's `setpriv`, where there is one. */
  setpriv: string | undefined;
  /** IANA name. */
  timeZone: string;
}

interface LaunchCommand {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * The command line and the whole environment of a runtime. `WHERRY_FUNCTION` and `WHERRY_REVISION` are set by the
 * runtime itself when it gets its function: a spare one does not know them yet.
 */
export function launchCommand(options: LaunchOptions): LaunchCommand {
  const guard = options.setpriv === undefined ? [] : [options.setpriv, ...SETPRIV_OPTIONS];
  const command = [...guard, options.node, ...flags(options), options.bundle];
  return {
    command: command[0] ?? options.node,
    args: command.slice(1),
    env: { NODE_ENV: 'production', TZ: options.timeZone, TMPDIR: options.temporaryFolder },
  };
}

function flags({ memoryMiB, temporaryFolder }: LaunchOptions): string[] {
  // The young generation is not part of the old space that the runtime's own flags limit: up to three semi-spaces.
  const semiSpaceMiB = Math.min(16, Math.max(4, Math.floor(memoryMiB / 16)));
  const common = runtimeNodeFlags({ memoryMiB, temporaryDirectory: temporaryFolder });
  return [...common, `--max-semi-space-size=${semiSpaceMiB}`];
}
