import { z } from 'zod';
import type { AnyEndpoint } from '../http/endpoint.ts';
import type { Json } from './json-schemas.ts';

/**
 * The links of an operation that makes something: to each operation whose path begins with its own, or that of the
 * collection, or has the id of what is made as its only parameter, where the request and its answer hold all parameters.
 * By operation id.
 */
export function linksOf(creator: AnyEndpoint, answer: z.ZodType, endpoints: readonly AnyEndpoint[]): Json {
  const known = {
    ...Object.fromEntries(parametersOf(creator).map((name) => [name, `$request.path.${name}`])),
    ...answered(answer),
  };
  const collection = creator.makesIn ?? creator.path;
  // As paths elsewhere call it: functionId.
  const idName = `${collection.split('/').at(-1)?.replace(/s$/, '') ?? ''}Id`;
  const links = endpoints.flatMap((endpoint) => {
    const names = parametersOf(endpoint);
    const isBelow = `${endpoint.path}/`.startsWith(`${collection}/`);
    const isAbout = names.every((name) => name === idName);
    if (endpoint === creator || names.length === 0 || !(isBelow || isAbout)) return [];
    const parameters = names.map(
      (name) => [name, known[name] ?? (name.endsWith('Id') ? known.id : undefined)] as const,
    );
    if (parameters.some(([, value]) => value === undefined)) return [];
    return [[endpoint.operationId, { operationId: endpoint.operationId, parameters: Object.fromEntries(parameters) }]];
  });
  return Object.fromEntries(links) as Json;
}

function parametersOf({ path }: AnyEndpoint): string[] {
  return Array.from(path.matchAll(/:(\w+)|\{\*(\w+)\}/g), ([, name, rest]) => name ?? rest ?? '');
}

/** Where an answer holds the id and the name of what was made: at its top, or in its only field. */
function answered(answer: z.ZodType): Record<string, string> {
  if (!(answer instanceof z.ZodObject)) return {};
  const fields = Object.entries(answer.shape);
  const [only] = fields;
  if (fields.length === 1 && only?.[1] instanceof z.ZodObject) return pointers(only[1], `/${only[0]}`);
  return pointers(answer, '');
}

function pointers({ shape }: z.ZodObject, at: string): Record<string, string> {
  const names = ['id', 'name'].filter((name) => Object.hasOwn(shape, name));
  return Object.fromEntries(names.map((name) => [name, `$response.body#${at}/${name}`]));
}
