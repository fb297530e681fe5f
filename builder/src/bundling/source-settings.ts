import type { SourceFiles } from './source-files.ts';
import { pathMapping, type PathMapping } from './ts-config.ts';

/** What a source's own package.json and tsconfig.json say of its imports. */
export interface SourceSettings {
  hasManifest: boolean;
  /** `type` of package.json. */
  type: unknown;
  /** Whether package.json lists a package, and under which of its fields. */
  listed(name: string): string | undefined;
  mapping: PathMapping;
}

const FIELDS = ['dependencies', 'optionalDependencies', 'peerDependencies', 'devDependencies'];

/** Gives a source's settings, read once. An invalid file is not an error here, but where it is needed. */
export function sourceSettings(files: SourceFiles): (source: string) => Promise<SourceSettings> {
  const known = new Map<string, Promise<SourceSettings>>();
  return (source) => {
    const settings = known.get(source) ?? read(source, files);
    known.set(source, settings);
    return settings;
  };
}

async function read(source: string, files: SourceFiles): Promise<SourceSettings> {
  const textOf = async (name: string): Promise<string | undefined> =>
    files.has(`${source}/${name}`) ? (await files.read(`${source}/${name}`)).toString('utf8') : undefined;
  const [manifestText, configText] = await Promise.all([textOf('package.json'), textOf('tsconfig.json')]);
  const manifest = parsed(() => asRecord(JSON.parse(manifestText ?? '{}')), {});
  return {
    hasManifest: manifestText !== undefined,
    type: manifest['type'],
    listed: (name) => FIELDS.find((field) => Object.hasOwn(asRecord(manifest[field]), name)),
    mapping: parsed(() => pathMapping(configText), pathMapping(undefined)),
  };
}

function parsed<T>(parse: () => T, otherwise: T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SyntaxError) return otherwise;
    throw error;
  }
}

const asRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
