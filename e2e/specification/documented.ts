import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGES = join(import.meta.dirname, '../../docs/reference');
const page = (name: string): string => readFileSync(join(PAGES, name), 'utf8');

export interface Operation {
  id: string;
  method: string;
  /** As in the document: `/api/functions/{id}`. */
  path: string;
  statuses: readonly number[];
  isPublic: boolean;
  /** Content types of the body; none where it has none. */
  bodyTypes: readonly string[];
}

interface Described {
  operationId: string;
  responses: Record<string, unknown>;
  security?: unknown[];
  requestBody?: { content: Record<string, unknown> };
}

const document = JSON.parse(page('openapi.json')) as { paths: Record<string, Record<string, Described>> };

/** Every operation of the management API. */
export const OPERATIONS: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, responses, security, requestBody }]) => ({
    id: operationId,
    method: method.toUpperCase(),
    path,
    statuses: Object.keys(responses).map(Number),
    isPublic: security?.length === 0,
    bodyTypes: Object.keys(requestBody?.content ?? {}),
  })),
);

/** The operation that a request is for; undefined for one of another method, path or port. */
export function operationOf(method: string, target: string): Operation | undefined {
  const path = target.replace(/\?.*$/s, '');
  const matching = OPERATIONS.filter((one) => one.method === method && patternOf(one.path).test(path));
  // A literal segment goes before a parameter.
  return matching.sort((a, b) => parameters(a.path) - parameters(b.path))[0];
}

const parameters = (path: string): number => path.split('{').length;

function patternOf(path: string): RegExp {
  const source = path.replaceAll('.', '[.]').replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'path' ? '.+' : '[^/]+'));
  return new RegExp(`^${source}$`);
}

/** The rows of a page's tables, cell by cell. */
function cellsOf(markdown: string): string[][] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('| '));
  return lines.map((line) => line.slice(2, -2).split(' | '));
}

/** Every code of an error body. */
export const ERROR_CODES: readonly string[] = cellsOf(page('errors.md')).flatMap(
  ([code = '']) => /^`(\w+)`$/.exec(code)?.[1] ?? [],
);

/** Every limit that a caller of either port gets an error for, by its name. */
export const ANSWERED_LIMITS: ReadonlySet<string> = new Set(
  cellsOf(page('limits.md')).flatMap(([name = '', , , beyond = '']) => (/\d{3} `\w+`/.test(beyond) ? name : [])),
);

/** Every setting, with its default. */
export const SETTINGS: readonly { name: string; value: string }[] = cellsOf(page('settings.md')).flatMap(
  ([name = '', value = '']) => {
    const [setting, given] = [name, value].map((cell) => /^`(.+)`$/.exec(cell)?.[1]);
    return setting === undefined || given === undefined ? [] : { name: setting, value: given };
  },
);
