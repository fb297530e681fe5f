import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { fc } from '@wherry/testing/properties.ts';
import supertest from 'supertest';
import { requestsOf, type Operation, type WireRequest } from '../testing/documented-requests.ts';
import { Browser, createUser, PASSWORD } from '../testing/browser.ts';
import { KEY, rawRequest, startTestManager, type RawAnswer, type TestManager } from '../testing/test-manager.ts';
import type { Json } from './json-schemas.ts';
import { openapiDocument } from './openapi-document.ts';

/** Others are tried with `WHERRY_CONFORMANCE_SEEDS=7,8 jest manager/src/openapi/conformance`. */
const { WHERRY_CONFORMANCE_SEEDS: CHOSEN } = process.env;
const SEEDS = (CHOSEN ?? '1,3').split(',').map(Number);
/** Of each operation. */
const REQUESTS = 25;

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; responses: Record<string, Json> };
}
const document = openapiDocument() as unknown as Document;

const ajv = new Ajv2020({ strict: false, validateFormats: true });
addFormats.default(ajv);
ajv.addSchema({ ...document, $id: 'document' });
const compiled = new Map<string, ValidateFunction>();

/** Of the schema at these steps of the document. */
function validatorAt(...steps: string[]): ValidateFunction {
  const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const found = compiled.get(pointer) ?? ajv.compile({ $ref: `document#/${pointer}` });
  compiled.set(pointer, found);
  return found;
}

const all = Object.entries(document.paths).flatMap(([template, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ template, method, operation })),
);
const isRemoval = ({ method }: { method: string }): boolean => method === 'delete';
/** Removals come last, and begin with what is within other objects. */
const operations = [...all.filter((one) => !isRemoval(one)), ...all.filter(isRemoval).reverse()];
type Described = (typeof operations)[number];

/** Why an answer is not one that the document has for its operation; undefined when it is. */
function problemOf({ template, method, operation }: Described, answer: RawAnswer): string | undefined {
  const { status } = answer;
  const given = operation.responses[String(status)] as { $ref?: string } | undefined;
  if (status >= 500) return `answers ${status}`;
  if (given === undefined) return `answers ${status}, which is not documented`;
  const code = given.$ref?.split('/').at(-1);
  const documented = code === undefined ? given : document.components.responses[code];
  const steps =
    code === undefined ? ['paths', template, method, 'responses', String(status)] : ['components', 'responses', code];
  return contentProblem((documented as { content?: object }).content ?? {}, steps, answer);
}

function contentProblem(content: object, steps: string[], { status, headers, body }: RawAnswer): string | undefined {
  if (status === 304 || Object.keys(content).length === 0) return body.length === 0 ? undefined : 'answers with a body';
  const sent = headers['content-type']?.split(';')[0] ?? '';
  const type = [sent, sent.replace(/\/.*/, '/*'), '*/*'].find((one) => one in content);
  if (type === undefined) return `answers with the type ${sent}, which is not documented`;
  if (type !== 'application/json') return undefined;
  const isDocumented = validatorAt(...steps, 'content', type, 'schema');
  return isDocumented(JSON.parse(body.toString())) ? undefined : ajv.errorsText(isDocumented.errors);
}

/** There are no sources from git, there is a first user, and no OpenID Connect provider. */
const NEVER_DONE = ['syncSource', 'deliverWebhook', 'setUp', 'startOidcSignIn', 'finishOidcSignIn'];
const ADMIN = 'admin@example.com';

/** Operations that have done what was requested. */
const successes = new Set<string>();

describe.each(SEEDS)('with seed %i, requests that the OpenAPI document describes', (seed) => {
  let manager: TestManager;
  let known: Record<string, string[]>;
  let browser: Browser;

  beforeAll(async () => {
    manager = await startTestManager();
    known = await makeObjects(manager);
    browser = new Browser(manager);
  });
  afterAll(() => manager.stop());

  // Whatever was requested before: nobody is throttled, the session is there, and the source takes files.
  beforeEach(async () => {
    await manager.clock.advance(60_000);
    await browser.signIn(ADMIN);
    for (const id of known.sources ?? []) await browser.send('put', `/api/sources/${id}`, { body: { enabled: true } });
  });

  const knownTo = ({ template, method }: Described): Record<string, string[]> => ({
    ...known,
    id: known[template.split('/')[2] ?? ''] ?? [],
    // One that is not empty is not deleted.
    ...(method === 'delete' ? { groupId: known.emptyGroups ?? [] } : {}),
  });

  const send = ({ method, path, headers, body, caller }: WireRequest): Promise<RawAnswer> => {
    const own =
      caller === 'session' ? { host: 'localhost:9000', 'sec-fetch-site': 'same-origin', cookie: browser.cookie } : {};
    return rawRequest(
      manager,
      { method, path, headers: { ...headers, ...own }, key: caller === 'key' ? KEY : undefined },
      body,
    );
  };

  it.each(operations.map((described, index) => [described.operation.operationId, described, index] as const))(
    'get answers that it describes, and so do faulty ones: %s',
    async (operationId, described, index) => {
      const { template, method } = described;
      const requests = requestsOf({
        ...described,
        components: document.components.schemas,
        known: knownTo(described),
        validatorOf: (type) => validatorAt('paths', template, method, 'requestBody', 'content', type, 'schema'),
      });
      const property = fc.asyncProperty(requests, async (request) => {
        const answer = await send(request);
        if (answer.status < 300) successes.add(operationId);
        expect([problemOf(described, answer), answer.body.toString()]).toEqual([undefined, expect.anything()]);
      });
      // With the same seed for all, each operation would be sent what another was.
      await fc.assert(property, { seed: seed * 1000 + index, numRuns: REQUESTS, endOnFailure: true });
    },
  );
});

// Whether other seeds reach everything is left to chance.
if (CHOSEN === undefined)
  it('requests that the OpenAPI document describes have reached what each operation does, not its refusals alone', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id) => !successes.has(id))).toEqual(NEVER_DONE);
  });

/** One object of each kind. @returns their ids by the name of the collection, and of the fields that name them. */
async function makeObjects(manager: TestManager): Promise<Record<string, string[]>> {
  const api = supertest.agent(manager.server).set('X-API-Key', KEY);
  const create = async (path: string, body: object): Promise<string> => {
    const { body: made } = await api.post(path).send(body).expect(201);
    return ((made as { function?: { id: string } }).function ?? (made as { id: string })).id;
  };
  const source = await create('/api/sources', { name: 'code-of-all', type: 'manual' });
  await api.put(`/api/sources/${source}/files/made.ts`).send({ content: 'export default () => "x";' }).expect(201);
  const definition = { name: 'made', handler: 'code-of-all/made.ts', route: '/made', methods: ['GET'] };
  const made = await create('/api/functions', definition);
  const group = await create('/api/key-groups', { name: 'made' });
  const key = await create('/api/keys', { groupId: group, name: 'made' });
  const secret = await create('/api/secrets', { name: 'made', value: 'x', scope: 'global' });
  await createUser(manager, ADMIN);
  const user = await createUser(manager, 'made@example.com');
  const empty = await create('/api/key-groups', { name: 'empty' });
  return {
    functions: [made],
    sources: [source],
    secrets: [secret],
    users: [user],
    functionId: [made],
    groupId: [group],
    emptyGroups: [empty],
    keyId: [key],
    keys: [group],
    scopeRef: [made, group, key],
    name: ['made', 'code-of-all'],
    path: ['made.ts'],
    // Of a password, and of what has to be the same.
    password: [PASSWORD],
    passwordConfirmation: [PASSWORD],
    email: [ADMIN],
    version: ['1'],
    'Last-Event-ID': ['1'],
    handler: ['code-of-all/made.ts'],
    file: ['api-docs.js'],
  };
}
