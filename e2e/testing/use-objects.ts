import { testCluster } from '../cluster/test-cluster.ts';
import { ApiClient, eventually, send } from './api-client.ts';
import { FunctionObjects } from './function-objects.ts';
import { startPlatform, type Platform } from './platform.ts';

/** Flags of `kubectl wait`. */
export const READY = ['--for=condition=Ready', '--timeout=60s'];
/** A value of an ApiKey or a FunctionSecret, in the Secret that is there while a suite runs. */
export const value = { secretKeyRef: { name: 'objects-values', key: 'key' } };

/** Another one: two ApiKeys cannot have the same. */
export const otherValue = { secretKeyRef: { name: 'objects-values', key: 'other' } };

/** A handler that answers with the word. */
export const text = (word: string): string => `export default (c) => c.text('${word}');`;
/** The fields that every Function has; it answers GET of the route. */
export const definition = (handler: string, route: string): { handler: string; route: string; methods: string[] } => ({
  handler,
  route,
  methods: ['GET'],
});

/** The cluster by kubectl and by REST. `api` is there in a test and in every hook that is registered later. */
interface UsedObjects {
  readonly objects: FunctionObjects;
  readonly api: ApiClient;
  /** The body of an answer of the management API. @throws Error when it refuses */
  rest(method: string, path: string, body?: unknown): Promise<any>;
  /**
   * Waits until a call of a function is answered like this; without a word, with any text.
   * @throws Error when it is not in time
   */
  becomes(path: string, status: number, word?: string, ms?: number): Promise<void>;
}

/**
 * What the suites of the six kinds depend on, from before the first test of a file until after the last: the Secret of
 * `value`, and a source `objects` by kubectl, whose files `one.js` and `two.js` come over REST.
 */
export function useObjects(): UsedObjects {
  const objects = new FunctionObjects(testCluster());
  let platform: Platform;
  let api: ApiClient;
  beforeAll(async () => {
    platform = await startPlatform();
    api = new ApiClient(platform.managementUrl, platform.managementKey);
    await objects.secret('objects-values', {
      key: 'a-value-of-a-secret-of-objects',
      other: 'another-value-of-objects',
    });
    await objects.apply('CodeSource', 'objects', { type: 'manual' });
    for (const word of ['one', 'two']) await api.upload('objects', `${word}.js`, text(word));
  }, 60_000);
  afterAll(async () => {
    await objects.delete('functionsecrets', 'objects-global', 'objects-function', 'objects-group', 'objects-key');
    await objects.delete('secret', 'objects-values');
    await platform?.dispose();
  }, 30_000);
  return {
    objects,
    get api() {
      return api;
    },
    rest: async (method, path, body) => (await api.expect(method, path, body)).body,
    becomes: (path, status, word, ms) =>
      eventually(async () => {
        const answer = await send(`${platform.functionUrl}/run${path}`);
        expect([answer.status, word === undefined ? undefined : answer.text]).toEqual([status, word]);
      }, ms),
  };
}
