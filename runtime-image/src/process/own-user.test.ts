import os from 'node:os';
import process from 'node:process';
import { giveOwnUser, type UserQuestions } from './own-user.ts';

const unknown = (): never => {
  throw Object.assign(new Error('uv_os_homedir returned ENOENT'), { code: 'ERR_SYSTEM_ERROR' });
};

describe('what packages read about the user', () => {
  it('has an answer for a user that no list names: the folder that may be written', () => {
    const system: UserQuestions = { homedir: unknown, userInfo: unknown, tmpdir: () => '/run/function' };
    giveOwnUser(system);
    expect(system.homedir()).toBe('/run/function');
    expect(system.userInfo()).toEqual({
      uid: process.getuid?.(),
      gid: process.getgid?.(),
      username: 'function',
      homedir: '/run/function',
      shell: null,
    });
  });

  it('is answered by the machine for a user that it knows', () => {
    const { homedir, userInfo, tmpdir } = os;
    const system: UserQuestions = { homedir, userInfo, tmpdir };
    giveOwnUser(system);
    expect([system.homedir(), system.userInfo()]).toEqual([homedir(), userInfo()]);
    expect(system.userInfo({ encoding: 'buffer' }).username).toEqual(userInfo({ encoding: 'buffer' }).username);
  });

  it('is not answered where something else is wrong', () => {
    const system: UserQuestions = {
      homedir: () => {
        throw new RangeError('no');
      },
      userInfo: unknown,
      tmpdir: () => '/tmp',
    };
    giveOwnUser(system);
    expect(() => system.homedir()).toThrow(RangeError);
  });
});
