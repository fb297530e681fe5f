import { eventually } from './api-client.ts';
import { commandsOf, onPorts, type Block } from './page-blocks.ts';
import type { Shell } from './shell.ts';

interface FollowOptions {
  /** Those that a service really has. */
  hosts: { functions: string; management: string };
  /** How long a change may take to show; until then, the command before a block of JSON is typed again. */
  withinMs: number;
}

/**
 * Types the commands of a page's blocks, in order: each must work, and what the page says that it prints must be what it
 * prints.
 * @returns how many outputs were compared
 */
export async function followPage(
  shell: Shell,
  blocks: readonly Block[],
  { hosts, withinMs }: FollowOptions,
): Promise<number> {
  let last = { command: '', output: '' };
  let compared = 0;
  const type = async (command: string): Promise<string> => {
    const { output, exitCode } = await shell.type(command);
    expect({ command, output, exitCode }).toMatchObject({ exitCode: 0 });
    last = { command, output };
    return output;
  };
  const compare = async (expected: unknown): Promise<void> => {
    const { command, output } = last;
    // Before it is compared, so that the next attempt has its output.
    if (withinMs > 0) await type(command);
    expect({ command, printed: JSON.parse(output) as unknown }).toEqual({ command, printed: expected });
  };
  for (const [at, block] of blocks.entries()) {
    if (block.language === 'json') {
      await eventually(() => compare(JSON.parse(block.text)), withinMs);
      compared += 1;
      continue;
    }
    const commands = commandsOf(block).map((command) => onPorts(command, hosts));
    const isCompared = blocks[at + 1]?.language === 'json';
    for (const [index, command] of commands.entries()) {
      const output = await type(command);
      if (isCompared && index === commands.length - 1) continue;
      expect({ command, output }).toEqual({ command, output: expect.not.stringMatching(/"error"|curl:/) });
    }
  }
  return compared;
}
