import { GOOD_KEY, Harness, routerFunction, type Answer } from '../testing/harness.ts';

const LISTED = 'https://app.example';
const rules = {
  origins: [LISTED],
  credentials: true,
  maxAge: 600,
  allowHeaders: ['X-Trace', 'content-type'],
  exposeHeaders: ['X-Total'],
};

describe('CORS', () => {
  let harness: Harness;
  let reached: string[];

  beforeAll(async () => {
    harness = await Harness.start();
    const instance = await harness.instance((req, res) => {
      reached.push(String(req.method));
      res.writeHead(200, [
        'Access-Control-Allow-Origin',
        'https://handlers-own.example',
        'Access-Control-Allow-Methods',
        'TRACE',
        'Vary',
        'Accept',
      ]);
      res.end();
    });
    await harness.serve([
      routerFunction({
        id: 'listed',
        route: '/listed',
        methods: ['GET', 'OPTIONS'],
        cors: rules,
        keyGroups: ['team'],
        instances: [instance],
      }),
      routerFunction({
        id: 'listed-put',
        route: '/listed',
        methods: ['PUT'],
        cors: { ...rules, origins: ['*'], credentials: false },
        instances: [instance],
      }),
      routerFunction({
        id: 'any',
        route: '/any',
        methods: ['GET'],
        cors: { ...rules, origins: ['*'], credentials: false, exposeHeaders: [] },
        instances: [instance],
      }),
      routerFunction({ id: 'plain', route: '/plain', methods: ['GET', 'OPTIONS'], instances: [instance] }),
      routerFunction({ id: 'bare', route: '/bare', methods: ['GET'], instances: [instance] }),
    ]);
  });
  beforeEach(() => {
    reached = [];
  });
  afterAll(() => harness.stop());

  const preflight = (route: string, origin: string, method: string): Promise<Answer> =>
    harness.call(`/run${route}`, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': method },
    });
  const cors = (answer: Answer): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(answer.headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'),
    );

  it('answers a preflight itself, without a key, with the methods of all functions on the route', async () => {
    const answer = await preflight('/listed', LISTED, 'GET');
    expect(answer.status).toBe(204);
    expect(cors(answer)).toEqual({
      'access-control-allow-origin': LISTED,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS, PUT',
      'access-control-allow-headers':
        'Accept, Accept-Language, Content-Language, Content-Type, Range, Authorization, X-API-Key, X-Trace',
      'access-control-max-age': '600',
      vary: 'Origin, Access-Control-Request-Method',
    });
    expect(reached).toEqual([]);
  });

  it('takes the rules of the function for the requested method', async () => {
    const answer = await preflight('/listed', 'https://elsewhere.example', 'PUT');
    expect(cors(answer)).toMatchObject({ 'access-control-allow-origin': '*' });
    expect(answer.headers['access-control-allow-headers']).not.toContain('X-API-Key');
  });

  it('answers a preflight of an origin that is not listed with a bare 204', async () => {
    const answer = await preflight('/listed', 'https://elsewhere.example', 'GET');
    expect(answer.status).toBe(204);
    expect(cors(answer)).toEqual({ vary: 'Origin, Access-Control-Request-Method' });
  });

  it('needs no OPTIONS among the methods', async () => {
    expect((await preflight('/any', 'https://x.example', 'GET')).status).toBe(204);
  });

  it('leaves OPTIONS of a function without rules to the function', async () => {
    expect((await preflight('/plain', LISTED, 'GET')).status).toBe(200);
    expect(reached).toEqual(['OPTIONS']);
    expect((await preflight('/bare', LISTED, 'GET')).status).toBe(405);
  });

  it('an OPTIONS that is no preflight reaches the function, key and all', async () => {
    const answer = await harness.call('/run/listed', { method: 'OPTIONS', headers: { 'X-API-Key': GOOD_KEY } });
    expect(answer.status).toBe(200);
    expect(reached).toEqual(['OPTIONS']);
  });

  it("replaces the handler's own headers where rules are configured, and leaves them elsewhere", async () => {
    const headers = { Origin: LISTED, 'X-API-Key': GOOD_KEY };
    expect(cors(await harness.call('/run/listed', { headers }))).toEqual({
      'access-control-allow-origin': LISTED,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'X-Total',
      vary: 'Accept, Origin',
    });
    expect(cors(await harness.call('/run/plain', { headers }))).toMatchObject({
      'access-control-allow-origin': 'https://handlers-own.example',
    });
    expect(cors(await harness.call('/run/any', { headers }))).toEqual({
      'access-control-allow-origin': '*',
      vary: 'Accept',
    });
  });

  it('an origin that is not listed, or none, gets no CORS headers', async () => {
    for (const headers of [{ Origin: 'https://app.example.evil' }, { Origin: 'null' }, {}]) {
      const answer = await harness.call('/run/listed', { headers: { ...headers, 'X-API-Key': GOOD_KEY } });
      expect(cors(answer)).toEqual({ vary: 'Accept, Origin' });
    }
  });

  it('is on every error of the router once the function is known', async () => {
    const answer = await harness.call('/run/listed', { headers: { Origin: LISTED } });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([401, LISTED]);
  });
});
