import path from 'node:path';
import { useInstances } from '../testing/use-instances.ts';

const WITHOUT_PATIENCE = path.join(import.meta.dirname, '..', 'testing', 'main-without-patience.ts');

const { created, stopAll } = useInstances();
afterEach(stopAll);

/** `mappings`: each generated line is the same line of the one source. */
function withSourceMap(code: string, source: string): string {
  const mappings = code
    .split('\n')
    .map((_line, index) => (index === 0 ? 'AAAA' : 'AACA'))
    .join(';');
  const map = { version: 3, sources: [source], sourcesContent: [code], names: [], mappings };
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
}

describe('an artifact that does not load', () => {
  it.each([
    [
      'throws',
      `const a = 1;\nthrow new RangeError('no luck');\nexport default () => a;`,
      'LoadError',
      /^RangeError: no luck \(my-api\/hello\.ts:2:1\)$/,
    ],
    [
      'rejects',
      `await Promise.reject(new Error('later'));\nexport default 1;`,
      'LoadError',
      /^Error: later \(my-api\/hello\.ts:1:1\)$/,
    ],
    ['throws no error', `throw 'text';`, 'LoadError', /^The handler threw 'text' while loading\.$/],
    ['does not parse', `\nexport default (;`, 'LoadError', /^SyntaxError: Unexpected token ';'/],
    [
      'imports a name that is not there',
      `import { nothing } from 'node:fs';\nexport default nothing;`,
      'LoadError',
      /^SyntaxError: .*nothing/,
    ],
    ['imports a package', `import x from 'left-pad';\nexport default x;`, 'LoadError', /left-pad/],
    [
      'imports node:sqlite',
      `import * as x from 'node:sqlite';\nexport default () => x;`,
      'LoadError',
      /node:sqlite cannot be used/,
    ],
    [
      'exports nothing',
      `const a = 1;`,
      'ExportError',
      /^The file exports nothing\. Export the handler as default: a function/,
    ],
    [
      'exports by name only',
      `export const GET = () => 1;`,
      'ExportError',
      /^The file has no default export, only GET\. Export/,
    ],
    ['exports a text', `export default 'x';`, 'ExportError', /^The default export is a string\. Export/],
    ['exports null', `export default null;`, 'ExportError', /^The default export is null\. Export/],
    [
      'exports an object without fetch',
      `export default { get() {}, post() {} };`,
      'ExportError',
      /^The default export is an object with only get, post\. Export/,
    ],
    [
      'exports a class',
      `export default class Shop {}`,
      'ExportError',
      /^The default export is the class Shop\. Export/,
    ],
  ])('%s: says so, and ends itself', async (_what, code, reason, message) => {
    const instance = created(withSourceMap(code, 'my-api/hello.ts'));
    expect(await instance.start()).toEqual({ type: 'failed', reason, message: expect.stringMatching(message) });
    expect(await instance.exited).toBe(1);
  });

  it('B4: is not the one that the revision names', async () => {
    const instance = created('export default () => 1', { revision: '0'.repeat(64) });
    expect(await instance.start()).toMatchObject({ type: 'failed', reason: 'LoadError', message: /revision/ });
    expect(await instance.exited).toBe(1);
  });

  it('awaits for ever at its top level', async () => {
    const environment = { WHERRY_LOAD_TIMEOUT_SECONDS: '60' };
    const instance = created('await new Promise(() => {});', { environment, main: WITHOUT_PATIENCE });
    expect(await instance.start()).toMatchObject({
      type: 'failed',
      message: expect.stringMatching(/did not finish within 60 s: an await/),
    });
  });

  it('loops for ever at its top level', async () => {
    const instance = created('for (;;);', { environment: { WHERRY_LOAD_TIMEOUT_SECONDS: '0.2' } });
    expect(await instance.start()).toMatchObject({
      type: 'failed',
      reason: 'LoadError',
      message: expect.stringMatching(/did not finish within 0\.2 s: a loop/),
    });
    expect(await instance.exited).toBe(1);
  });

  it('what it printed before is in the log', async () => {
    const instance = created(`console.log('so far'); throw new Error('no');`);
    await instance.start();
    expect(instance.logs).toMatchObject([{ level: 'log', message: 'so far', requestId: '', functionName: 'hello' }]);
  });
});

it('refuses to start on a bad configuration, in one line', async () => {
  const instance = created('', { environment: { WHERRY_LOAD_TIMEOUT_SECONDS: 'soon' } });
  expect(await instance.exited).toBe(1);
  expect(instance.stderr).toMatch(/^The runtime's configuration is not valid: WHERRY_LOAD_TIMEOUT_SECONDS: .*\n$/);
});

it("stack traces name the author's file, line and column", async () => {
  const code = `function deep() {\n  throw new Error('here');\n}\nexport default () => deep();`;
  const instance = created(withSourceMap(code, 'my-api/lib/deep.ts'));
  await instance.start();
  await instance.call();
  await instance.until(() => instance.logs.length > 0);
  expect(instance.logs[0]?.message).toMatch(/^Error: here\n\s+at deep \(\/app\/my-api\/lib\/deep\.ts:2:1\)/);
});

it.each<[string, string, RegExp]>([
  [
    'of an error in the handler',
    `export default () => { throw new Error('here'); };`,
    /^Error: here\n {4}at [^\n]*\/app\/a\.ts:1:1\)$/,
  ],
  [
    "of an error in the runtime's part of the context, with Node's frames",
    `export default (c) => c.json(1, 9999);`,
    /^RangeError: [^\n]*\n(?: {4}at [^\n]*\(node:[^\n]*\n)+ {4}at [^\n]*\/app\/a\.ts:1:1\)$/,
  ],
  [
    'of an error in a timer, with the frames of Node that called it',
    `export default () => new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 1));`,
    /^Error: late\n {4}at [^\n]*\/app\/a\.ts:1:1\)\n(?: {4}at [^\n]*\(node:internal\/timers:[^\n]*(?:\n|$))+$/,
  ],
  [
    'of an answer that is none, which no code of the author throws',
    `export default () => 5;`,
    /^TypeError: The handler must return a Response [^\n]*$/,
  ],
])("stack traces have no frames of the runtime's files: %s", async (_what, code, stack) => {
  const instance = created(withSourceMap(code, 'a.ts'));
  await instance.start();
  await instance.call();
  await instance.until(() => instance.logs.length > 0);
  expect(instance.logs[0]?.message).toMatch(stack);
});

it("stack traces are Node's own but for the places, whatever an error looks like", async () => {
  const code = `const odd = Object.assign(new Error('odd'), { name: { toString() { throw 0; } } });\n
    export default (c) => c.json([odd.stack, new Error('here').stack, (0, eval)("new Error('from eval').stack")]);`;
  const instance = created(withSourceMap(code, 'my-api/lib/deep.ts'));
  await instance.start();
  const [odd, here, fromEval] = JSON.parse((await instance.call()).body) as string[];
  expect(odd).toContain('my-api/lib/deep.ts:1:1');
  expect(here).toMatch(/^Error: here\n {4}at .*\/app\/my-api\/lib\/deep\.ts:3:1/);
  expect(fromEval).toMatch(/^Error: from eval\n {4}at eval/);
});

it('imports of Node itself, and require of them, work; __dirname is /app by import.meta', async () => {
  const instance = created(`
    import { createRequire } from 'node:module';
    import { createHash } from 'node:crypto';
    const require = createRequire(import.meta.url);
    export default (c) => c.json([import.meta.dirname, createHash('md5').update('a').digest('hex'), require('node:path').sep]);`);
  await instance.start();
  expect((await instance.call()).body).toBe('["/app","0cc175b9c0f1b6a831c399e269772661","/"]');
});
