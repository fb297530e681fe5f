import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';

/**
 * What the page consists of, by the name under which it is served. `bundleProgram` finds these expressions and copies
 * their files into the image.
 */
const FILES = {
  'api-docs.html': { url: new URL('./page/api-docs.html', import.meta.url), type: 'text/html' },
  'api-docs.css': { url: new URL('./page/api-docs.css', import.meta.url), type: 'text/css' },
  'api-docs.js': { url: new URL('./page/api-docs.js', import.meta.url), type: 'text/javascript' },
  'swagger-ui.css': { url: new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css')), type: 'text/css' },
  'swagger-ui-bundle.js': {
    url: new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
    type: 'text/javascript',
  },
} as const;
type FileName = keyof typeof FILES;
const PAGE = 'api-docs.html';

export interface DocsFile {
  /** Of the content, SHA-256. */
  digest: string;
  /** Bytes. */
  size: number;
  contentType: string;
  open: () => ReadStream;
}

/** Files that do not change while the program runs; each is read from the disk again for each reader. */
export class DocsFiles {
  readonly #facts = new Map<FileName, Promise<Pick<DocsFile, 'digest' | 'size'>>>();

  /** The page itself, which is served with its policy alone. */
  page(): Promise<DocsFile> {
    return this.#file(PAGE);
  }

  /** What the page loads; undefined for another name. */
  async find(name: string): Promise<DocsFile | undefined> {
    return isFileName(name) && name !== PAGE ? this.#file(name) : undefined;
  }

  async #file(name: FileName): Promise<DocsFile> {
    const { url, type } = FILES[name];
    return { ...(await this.#factsOf(name)), contentType: `${type}; charset=utf-8`, open: () => createReadStream(url) };
  }

  async #factsOf(name: FileName): Promise<Pick<DocsFile, 'digest' | 'size'>> {
    const facts = this.#facts.get(name) ?? factsOf(FILES[name].url);
    this.#facts.set(name, facts);
    try {
      return await facts;
    } catch (error) {
      this.#facts.delete(name);
      throw error;
    }
  }
}

function isFileName(name: string): name is FileName {
  return Object.hasOwn(FILES, name);
}

async function factsOf(url: URL): Promise<Pick<DocsFile, 'digest' | 'size'>> {
  const bytes = await readFile(url);
  return { digest: createHash('sha256').update(bytes).digest('hex'), size: bytes.length };
}
