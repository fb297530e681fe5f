import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { HandlerContext } from '@wherry/runtime/call/handler-context.ts';
import type { FunctionContext } from '../../../examples/wherry.d.ts';

const root = path.join(import.meta.dirname, '../../..');
const read = (page: string): string => readFileSync(path.join(root, page), 'utf8');

/** What the runtime gives has all that is documented for authors: the type check fails here where it has not. */
const asAuthorsSeeIt = (context: HandlerContext): FunctionContext => context;
/** And the other way round: every public member is described. */
const describedMember = (member: keyof HandlerContext): keyof FunctionContext => member;

describe('examples/wherry.d.ts', () => {
  it('describes the members of ctx that the guide lists', () => {
    const described = [
      .../interface FunctionContext \{\n(.*?)^\}/ms
        .exec(read('examples/wherry.d.ts'))![1]!
        .matchAll(/^ {2}readonly (\w+)/gm),
    ];
    const listed = [...read('docs/guides/handlers.md').matchAll(/^\| `(?:await )?(\w+)(?:\([^`]*\))?` \|/gm)];
    expect(described.length).toBeGreaterThan(5);
    expect(described.map(([, name]) => name).toSorted()).toEqual(listed.map(([, name]) => name).toSorted());
    expect([asAuthorsSeeIt, describedMember]).toHaveLength(2);
  });
});
