/** What a handler can do to its own process (S3), by name: JavaScript, a function without arguments each. */
const DEEDS = {
  'an endless loop': '() => { for (;;); }',
  'process.exit': '() => process.exit(0)',
  'a heap that grows': '() => { for (;;) kept.push(new Array(10_000).fill(Math.random())); }',
  'buffers that grow':
    'async () => { for (;;) { kept.push(Buffer.alloc(8 << 20, 1)); await new Promise(setImmediate); } }',
  'an unhandled rejection': `() => { Promise.reject(new Error('nobody catches this')); return new Promise(() => {}); }`,
  'a throw in a timer': `() => { setTimeout(() => { throw new Error('nobody catches this'); }); return new Promise(() => {}); }`,
  'an aborted process': '() => process.abort()',
};

export type FatalDeed = keyof typeof DEEDS;
export const FATAL_DEEDS = Object.keys(DEEDS) as FatalDeed[];

/** A handler that does what the query's `do` names, and answers `well` without one. */
export const FATAL_HANDLER = `
const kept = [];
const deeds = { ${Object.entries(DEEDS)
  .map(([name, code]) => `${JSON.stringify(name)}: ${code}`)
  .join(',\n')} };
export default async (c, ctx) => { await deeds[ctx.query.do]?.(); return c.text('well'); };`;

/** The target that makes it do so, below its route. */
export const fatalQuery = (deed: FatalDeed): string => `?do=${encodeURIComponent(deed)}`;
