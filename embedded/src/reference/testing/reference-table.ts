import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The repository's root. */
export const ROOT = path.join(import.meta.dirname, '../../../..');

/** A row of a table: its cells by the names of their columns. Code marks around a whole cell are taken off. */
type Row = Record<string, string>;

/**
 * The rows of the one table of a page in docs/reference, or of one section of it.
 * @param heading a heading of the second level; without one the page is read as a whole.
 */
export function readReferenceTable(page: string, heading?: string): Row[] {
  const text = readFileSync(path.join(ROOT, 'docs/reference', page), 'utf8');
  const section = heading === undefined ? text : text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/reference/${page} has no section "${heading ?? ''}"`);
  const [header, , ...rows] = section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map(cellsOf);
  if (header === undefined) throw new Error(`docs/reference/${page} has no table under "${heading ?? ''}"`);
  return rows.map((cells) => {
    const row = Object.fromEntries(header.map((column, at) => [column, cells[at] ?? '']));
    if (cells.length !== header.length || cells.includes(''))
      throw new Error(`docs/reference/${page}: a row with an empty cell, or too many: ${JSON.stringify(row)}`);
    return row;
  });
}

/** The cells of a column; a table that names something twice gives it twice. */
export function columnOf(rows: readonly Row[], column: string): string[] {
  return rows.map((row) => row[column] ?? '').sort();
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) => cell.trim().replace(/^`([^`]*)`$/, '$1'));
}
