import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import process from 'node:process';

/** Those of Node's `os` that read the machine's list of users. */
export type UserQuestions = Pick<typeof os, 'homedir' | 'userInfo' | 'tmpdir'>;

/**
 * The user of an instance exists only for it: no list of users has it, and Node throws when packages read the user's
 * name or home folder, which some do as soon as they are loaded. Their home is therefore the one folder that they may
 * write to.
 */
export function giveOwnUser(system: UserQuestions = os): void {
  const { homedir, userInfo } = system;
  const made = (): os.UserInfo<string> => ({
    uid: process.getuid?.() ?? -1,
    gid: process.getgid?.() ?? -1,
    username: 'function',
    homedir: system.tmpdir(),
    shell: null,
  });
  system.homedir = () => orElse(homedir, () => system.tmpdir());
  system.userInfo = ((options?: os.UserInfoOptions) =>
    orElse(() => userInfo(options as undefined), made)) as typeof os.userInfo;
  // For those who import them by name.
  syncBuiltinESMExports();
}

function orElse<T>(read: () => T, otherwise: () => T): T {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SYSTEM_ERROR') return otherwise();
    throw error;
  }
}
