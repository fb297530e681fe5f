import type { StructuralSchema } from '../schema/structural-schema.ts';

/** A Markdown table. Cells are escaped here. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The fields of an object, each below the one that holds it: type, default, limits and meaning. */
export function fieldTable(schema: StructuralSchema): string {
  return table(['Field', 'Type', 'Default', 'Limits', 'Meaning'], rowsOf(schema, ''));
}

function rowsOf(schema: StructuralSchema, path: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}${name}`;
    const required = schema.required?.includes(name) === true ? ', required' : '';
    const own = [
      code(at),
      `${typeOf(field)}${required}`,
      defaultOf(field),
      limitsOf(field).join('; '),
      meaningOf(field),
    ];
    return [own, ...rowsOf(field, `${at}.`), ...(field.items === undefined ? [] : rowsOf(field.items, `${at}[].`))];
  });
}

/** Fields of entries have rows of their own; entries that are texts are described here. */
function meaningOf({ description = '', items }: StructuralSchema): string {
  const form = items?.type === 'string' && items.description !== undefined ? ` Each: ${items.description}` : '';
  return prose(`${description}${form}`);
}

function typeOf({ type, items, nullable }: StructuralSchema): string {
  const name = type === 'array' && items !== undefined ? `list of ${items.type}s` : type;
  return nullable === true ? `${name} or null` : name;
}

/** An object is described by its fields. */
function defaultOf(schema: StructuralSchema): string {
  if (schema.nullable === true && schema.default === undefined) return code('null');
  return schema.default === undefined || schema.type === 'object' ? '' : code(JSON.stringify(schema.default));
}

function limitsOf(schema: StructuralSchema): string[] {
  const { items } = schema;
  const ofItems = items === undefined || items.type === 'object' ? [] : limitsOf(items).map((limit) => `each ${limit}`);
  return [
    ...(schema.enum === undefined ? [] : [schema.enum.map(code).join(', ')]),
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' entries'),
    ...(schema['x-kubernetes-list-type'] === 'set' ? ['no duplicates'] : []),
    ...(schema['x-kubernetes-list-map-keys'] ?? []).map((key) => `one for each ${code(key)}`),
    ...(schema['x-kubernetes-validations'] ?? []).map(
      ({ message, fieldPath }) => `${fieldPath === undefined ? '' : `${code(fieldPath.slice(1))} `}${prose(message)}`,
    ),
    ...ofItems,
  ];
}

function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  const end = most === Number.MAX_SAFE_INTEGER ? undefined : most;
  if (end === undefined) return least === undefined ? [] : [`at least ${least}${unit}`];
  if (least === undefined) return [`at most ${end}${unit}`];
  return [least === end ? `${end}${unit}` : `${least} to ${end}${unit}`];
}

/** A sentence, escaped so that Markdown sees no markup in it. */
function prose(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll(/[*_]/g, String.raw`\$&`);
}

function code(text: string): string {
  return `\`${text}\``;
}
