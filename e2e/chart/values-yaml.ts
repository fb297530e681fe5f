import { stringify } from 'yaml';
import type { Value } from './value-list.ts';

const WIDTH = 118;

/** values.yaml: every value with its default, under a comment that says what it is. */
export function valuesYaml(values: readonly Value[]): string {
  const head =
    '# The values of the chart. docs/guides/kubernetes-values.md has them as tables.\n# Generated from e2e/chart/values-schema.ts by `npm run verify`.\n';
  return head + values.map((value) => `\n${lines(value, '').join('\n')}\n`).join('');
}

function lines({ path, description, default: byDefault, members, choices = [] }: Value, indent: string): string[] {
  const name = path.at(-1) ?? '';
  const comment = wrap(
    plain(description) + (choices.length > 1 ? ` One of: ${choices.map((choice) => choice || '""').join(', ')}.` : ''),
    WIDTH - indent.length - 2,
  );
  const commented = comment.map((line) => `${indent}# ${line}`);
  if (members !== undefined)
    return [...commented, `${indent}${name}:`, ...members.flatMap((member) => lines(member, `${indent}  `))];
  const body = stringify({ [name]: byDefault }, { defaultStringType: 'PLAIN', lineWidth: 0 }).trimEnd();
  return [...commented, ...body.split('\n').map((line) => indent + line)];
}

/** A comment has no links. */
const plain = (markdown: string): string => markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');

function wrap(text: string, width: number): string[] {
  const wrapped: string[] = [];
  for (const word of text.split(' ')) {
    const line = wrapped.at(-1);
    if (line === undefined || line.length + word.length >= width) wrapped.push(word);
    else wrapped[wrapped.length - 1] = `${line} ${word}`;
  }
  return wrapped;
}
