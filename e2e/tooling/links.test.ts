import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './run-command.ts';

/** Every page of the project: those that are committed, and new ones that git would take. */
function pages(): string[] {
  const listed = execFileSync('git', ['-C', root, 'ls-files', '-coz', '--exclude-standard', '*.md'], {
    encoding: 'utf8',
  });
  return listed.split('\0').filter((page) => page !== '' && existsSync(path.join(root, page)));
}

const proseOf = (page: string): string =>
  readFileSync(path.join(root, page), 'utf8')
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`\n]*`/g, '');

/** The anchors of a page, as GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(page, 'utf8')
    .replace(/^```.*?^```$/gms, '')
    .matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function problem(page: string, target: string): string | undefined {
  const [file = '', anchor] = decodeURIComponent(target).split('#', 2);
  const found = file === '' ? path.join(root, page) : path.resolve(root, path.dirname(page), file);
  if (!existsSync(found)) return `${page}: ${target} leads nowhere`;
  if (anchor !== undefined && !anchorsOf(found).includes(anchor)) return `${page}: ${target} names no heading`;
  return undefined;
}

describe('the pages of the project', () => {
  const links = pages().flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^()\s]+)\)|^\[[^\]]+\]:\s+(\S+)/gm)].map(([, inline, reference]) => ({
      page,
      target: inline ?? reference ?? '',
    })),
  );
  const relative = links.filter(({ target }) => !/^[a-z]+:/i.test(target));

  it('have links that lead somewhere', () => {
    expect(relative.length).toBeGreaterThan(10);
    expect(relative.flatMap(({ page, target }) => problem(page, target) ?? [])).toEqual([]);
  });
});
