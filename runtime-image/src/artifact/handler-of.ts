import type { Handler } from '../call/handler.ts';

type Found = { ok: true; handler: Handler } | { ok: false; reason: 'ExportError'; message: string };

const ADVICE =
  'Export the handler as default: a function (c, ctx) => Response, or an object with fetch(request, env, ctx).';

/** The handler in a module, or what is wrong with its default export. */
export function handlerOf(module: { default?: unknown }): Found {
  const exported = module.default;
  if (typeof exported === 'function') {
    if (isClass(exported))
      return refusedExport(exported.name === '' ? 'an anonymous class' : `the class ${exported.name}`);
    return { ok: true, handler: { form: 'function', call: exported as (c: unknown, ctx: unknown) => unknown } };
  }
  if (typeof exported === 'object' && exported !== null) {
    const object = exported as { fetch?: (...args: unknown[]) => unknown };
    if (typeof object.fetch !== 'function') return refusedExport(describe(exported));
    return { ok: true, handler: { form: 'fetch', call: (...args) => object.fetch?.(...args) } };
  }
  return 'default' in module ? refusedExport(nameOf(exported)) : refused(missing(module));
}

const refused = (found: string): Found => ({ ok: false, reason: 'ExportError', message: `${found}. ${ADVICE}` });
const refusedExport = (exported: string): Found => refused(`The default export is ${exported}`);

const isClass = (value: object): boolean => /^class\b/.test(Function.prototype.toString.call(value));

const nameOf = (value: unknown): string =>
  value === null || value === undefined ? String(value) : `a ${typeof value}`;

function missing(module: object): string {
  const names = Object.keys(module);
  return names.length === 0
    ? 'The file exports nothing'
    : `The file has no default export, only ${names.slice(0, 10).join(', ')}`;
}

function describe(value: object): string {
  if (Array.isArray(value)) return 'an array';
  const keys = Object.keys(value);
  return keys.length === 0 ? 'an empty object' : `an object with only ${keys.slice(0, 10).join(', ')}`;
}
