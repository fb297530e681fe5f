import { useInstances } from '../testing/use-instances.ts';

// Frameworks and clients bring a Response of their own: it has the same members, and is no instance of the global one.

const { started, stopAll } = useInstances();
afterEach(stopAll);

const FOREIGN = `
import { Readable } from 'node:stream';
class Own {
  constructor(body, { status = 200, statusText = '', headers = {}, bodyUsed = false } = {}) { Object.assign(this, { body, status, statusText, headers: new Map(Object.entries(headers)), bodyUsed }); }
  arrayBuffer() {}
}
const bytes = (text) => new TextEncoder().encode(text);
const ways = {
  '/web': () => new Own(new Blob(['from a web stream']).stream(), { status: 201, statusText: 'Made', headers: { 'X-A': '1', 'content-type': 'text/plain' } }),
  '/node': () => new Own(Readable.from([bytes('from a '), bytes('stream of Node')])),
  '/iterable': () => new Own((async function* () { yield bytes('from '); yield bytes('an iterable'); })()),
  '/empty': () => new Own(null, { status: 204 }),
  '/used': () => new Own(null, { bodyUsed: true }),
  '/interim': () => new Own(null, { status: 199 }),
  '/beyond': () => new Own(null, { status: 1000 }),
  '/half': () => ({ status: 200, headers: new Map(), body: null }),
};
export default async (c) => ways[c.req.path]();`;

it.each([
  ['/web', 201, 'from a web stream'],
  ['/node', 200, 'from a stream of Node'],
  ['/iterable', 200, 'from an iterable'],
  ['/empty', 204, ''],
])('sends one of another implementation: %s', async (path, status, body) => {
  const instance = await started(FOREIGN);
  expect(await instance.call({ path })).toMatchObject({ status, body });
});

it('sends its status text and headers', async () => {
  const instance = await started(FOREIGN);
  const reply = await instance.call({ path: '/web' });
  expect(reply.headers).toMatchObject({ 'x-a': '1', 'content-type': 'text/plain' });
});

it.each([
  ['/used', /already been read/],
  ['/interim', /status of the Response must be 200 or higher, but is 199/],
  ['/beyond', /Invalid status code: 1000/],
  ['/half', /returned an object that is not a Response/],
])('refuses what cannot be sent: %s', async (path, message) => {
  const instance = await started(FOREIGN);
  expect(await instance.call({ path })).toMatchObject({ status: 500, headers: { 'x-wherry-outcome': 'error' } });
  await instance.until(() => instance.logs.length > 0);
  expect(instance.logs).toMatchObject([{ level: 'error', message: expect.stringMatching(message) }]);
});
