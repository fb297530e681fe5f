import type { Row } from './matrix.ts';
import type { Outcome } from './run-row.ts';

const HEADING = ['Package', 'Version', 'Required by', 'Works', 'Artifact', 'First answer', 'After an edit'];

/** The page's table of results, an area after the other. */
export function resultsTable(rows: readonly Row[], outcomes: readonly Outcome[]): string {
  const byName = new Map(outcomes.map((outcome) => [outcome.name, outcome]));
  const areas = Map.groupBy(rows, ({ area }) => area);
  return [...areas].map(([area, inArea]) => areaTable(area, inArea, byName)).join('\n');
}

function areaTable(area: string, rows: readonly Row[], outcomes: ReadonlyMap<string, Outcome>): string {
  const lines = rows.map((row) => line(cells(row, outcomes.get(row.name))));
  return `### ${area}\n\n${line(HEADING)}${line(HEADING.map(() => '---'))}${lines.join('')}`;
}

const line = (texts: readonly string[]): string =>
  `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |\n`;

function cells(row: Row, outcome: Outcome | undefined): string[] {
  const version = row.packages[row.package] ?? '';
  const start = [`\`${row.package}\``, version, `\`${row.form}\``];
  if (outcome?.failure !== undefined) return [...start, `no: ${firstSentence(outcome.failure)}`, '', '', ''];
  const { bytes = 0, firstMs = 0, editMs = 0 } = outcome ?? {};
  return [...start, outcome === undefined ? 'not tried' : 'yes', size(bytes), time(firstMs), time(editMs)];
}

/** Without the places, which are in a handler of ours and in the package. */
const firstSentence = ({ reason, message }: { reason: string; message: string }): string =>
  `\`${reason}\`: ${message.split('\n')[0]?.replace(/^(?:\S+:\d+:\d+: )+/, '') ?? ''}`;

const size = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const time = (ms: number): string => (ms < 1000 ? `${Math.round(ms / 10) * 10} ms` : `${(ms / 1000).toFixed(1)} s`);

/** What a table says: package, version and whether it works, as `name@version: yes`. */
export function verdicts(page: string): string[] {
  return [...page.matchAll(/^\| `([^`]+)` \| (\S+) \| `[^`]+` \| (yes|no)\b/gm)].map(
    ([, name = '', version = '', verdict = '']) => `${name}@${version}: ${verdict}`,
  );
}
