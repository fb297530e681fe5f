import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import supertest from 'supertest';
import { Browser, createUser, PASSWORD } from '../testing/browser.ts';
import { KEY, SETUP_TOKEN, startTestManager, type TestManager } from '../testing/test-manager.ts';

const account = (email: string, password = PASSWORD): Record<string, string> => ({
  email,
  password,
  passwordConfirmation: password,
});
const NEW_PASSWORD = 'another long password';

describe('users', () => {
  let manager: TestManager;
  const api = (): ReturnType<typeof supertest.agent> => supertest.agent(manager.server).set('X-API-Key', KEY);
  const browser = (email: string, password?: string): Promise<Browser> => new Browser(manager).signIn(email, password);

  beforeEach(async () => {
    manager = await startTestManager();
  });
  afterEach(() => manager.stop());

  it('are created, listed by email, read and deleted; answers have no password and no hash', async () => {
    const made = await api()
      .post('/api/users')
      .send({ ...account('zoe@example.com'), name: 'Zoe' })
      .expect(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email: 'zoe@example.com',
      emailVerified: false,
      name: 'Zoe',
      image: null,
      role: 'admin',
      banned: false,
      createdAt: new Date(manager.clock.now()).toISOString(),
      updatedAt: new Date(manager.clock.now()).toISOString(),
    });
    const { id } = (await api().post('/api/users').send(account('adam@example.com')).expect(201)).body as {
      id: string;
    };
    const list = (await api().get('/api/users').expect(200)).body as { users: { email: string; role: string }[] };
    expect(list.users.map(({ email, role }) => [email, role])).toEqual([
      ['adam@example.com', 'editor'],
      ['zoe@example.com', 'admin'],
    ]);
    expect((await api().get(`/api/users/${id}`).expect(200)).body).toEqual(list.users[0]);
    expect((await api().delete(`/api/users/${id}`).expect(200)).body).toEqual({ success: true });
    await api().get(`/api/users/${id}`).expect(404);
    await api().delete(`/api/users/${id}`).expect(404);
    await api().put(`/api/users/${id}`).send({ role: 'viewer' }).expect(404);
  });

  it('can be sent back as they were read', async () => {
    const id = await createUser(manager, 'first@example.com');
    const read = (await api().get(`/api/users/${id}`)).body as object;
    await api()
      .put(`/api/users/${id}`)
      .send({ ...read, name: 'First' })
      .expect(200);
    expect((await api().get(`/api/users/${id}`)).body).toMatchObject({ name: 'First' });
  });

  it.each([
    ['no email', { email: 'first' }, 'email: must be an email address.'],
    ['a password of 7 characters', account('a@example.com', 'seven77'), 'password: must have at least 8 characters.'],
    [
      'one of 257',
      account('a@example.com', 'x'.repeat(257)),
      'password: must have at most 256 characters; there is 1 more error.',
    ],
    [
      'another confirmation',
      { passwordConfirmation: 'different' },
      'passwordConfirmation: must be the same as password.',
    ],
    ['an unknown role', { role: 'owner' }, /^role: /],
    ['a first user who is no admin', { role: 'viewer' }, 'role: must be admin for the first user.'],
    ['an unknown field', { admin: true }, 'admin: is not a known field.'],
  ])('are refused with %s', async (_name, fields, error) => {
    const answer = await api()
      .post('/api/users')
      .send({ ...account('a@example.com'), ...fields })
      .expect(400);
    expect((answer.body as { error: string }).error).toMatch(error);
    expect(manager.users.users()).toEqual([]);
  });

  it('have emails that are unique, whatever their case', async () => {
    await createUser(manager, 'Ada@Example.com');
    const answer = await api().post('/api/users').send(account('ada@example.COM')).expect(409);
    expect(answer.body).toMatchObject({ error: 'A user with the email ada@example.COM already exists.' });
    await browser('ADA@example.com');
  });

  it('of one email, only one of many that are created at once', async () => {
    await createUser(manager, 'first@example.com');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api().post('/api/users').send(account('same@example.com'))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(409)]);
  });

  it('may each change their own password, and nothing else of themselves or others unless they are administrators', async () => {
    const admin = await createUser(manager, 'admin@example.com');
    for (const role of ['viewer', 'editor'] as const) {
      const id = await createUser(manager, `${role}@example.com`, role);
      const user = await browser(`${role}@example.com`);
      for (const [target, body] of [
        [id, { role: 'admin' }],
        [id, { name: 'Me' }],
        [id, { password: NEW_PASSWORD, passwordConfirmation: NEW_PASSWORD, role: 'admin' }],
        [admin, { password: NEW_PASSWORD, passwordConfirmation: NEW_PASSWORD }],
        ['unknown', { password: NEW_PASSWORD, passwordConfirmation: NEW_PASSWORD }],
      ] as const)
        expect([target, (await user.send('put', `/api/users/${target}`, { body })).status]).toEqual([target, 403]);
      const body = { password: NEW_PASSWORD, passwordConfirmation: NEW_PASSWORD };
      expect((await user.send('put', `/api/users/${id}`, { body })).status).toBe(200);
      await browser(`${role}@example.com`, NEW_PASSWORD);
      await expect(browser(`${role}@example.com`)).rejects.toThrow('sign-in failed');
    }
    await browser('admin@example.com');
  });

  it('who change their password keep the session with which they do, and lose the others', async () => {
    const id = await createUser(manager, 'first@example.com');
    await createUser(manager, 'other@example.com');
    const [here, there, other] = [
      await browser('first@example.com'),
      await browser('first@example.com'),
      await browser('other@example.com'),
    ];
    const body = { password: NEW_PASSWORD, passwordConfirmation: NEW_PASSWORD };
    expect((await here.send('put', `/api/users/${id}`, { body })).status).toBe(200);
    const statuses = [here, there, other].map(async (one) => (await one.send('get', '/api/auth/session')).status);
    expect(await Promise.all(statuses)).toEqual([200, 401, 200]);
    await api().put(`/api/users/${id}`).send(body).expect(200);
    expect((await here.send('get', '/api/auth/session')).status).toBe(401);
  });

  it('whose role changes have the new rights at once', async () => {
    await createUser(manager, 'first@example.com');
    const id = await createUser(manager, 'second@example.com', 'viewer');
    const user = await browser('second@example.com');
    const create = (name: string) => user.send('post', '/api/key-groups', { body: { name } });
    expect((await create('a')).status).toBe(403);
    await api().put(`/api/users/${id}`).send({ role: 'editor' }).expect(200);
    expect((await create('a')).status).toBe(201);
    await api().put(`/api/users/${id}`).send({ role: 'viewer' }).expect(200);
    expect((await create('b')).status).toBe(403);
  });

  describe.each(['demoted', 'signed out'] as const)('M5: whoever is %s while the request arrives', (what) => {
    let id: string;
    let user: Browser;
    beforeEach(async () => {
      await createUser(manager, 'first@example.com');
      id = await createUser(manager, 'second@example.com', 'admin');
      user = await browser('second@example.com');
    });

    /** @returns the status of a request whose caller loses the right between its head and its body. */
    async function statusOf(method: string, path: string, type: string, body: string): Promise<number> {
      const { port } = manager.server.address() as AddressInfo;
      const sent = request({
        port,
        method,
        path,
        headers: {
          Host: 'localhost:9000',
          'Sec-Fetch-Site': 'same-origin',
          Cookie: user.cookie,
          'Content-Type': type,
          'Content-Length': body.length,
          Expect: '100-continue',
        },
      });
      sent.flushHeaders();
      // The request is admitted by now.
      await once(sent, 'continue');
      if (what === 'demoted') await api().put(`/api/users/${id}`).send({ role: 'viewer' }).expect(200);
      else expect((await user.send('post', '/api/auth/sign-out')).status).toBe(200);
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode ?? 0;
    }
    const REFUSED = what === 'demoted' ? 403 : 401;

    it('creates no user', async () => {
      const body = JSON.stringify(account('third@example.com'));
      expect(await statusOf('POST', '/api/users', 'application/json', body)).toBe(REFUSED);
      expect(manager.users.userByEmail('third@example.com')).toBeUndefined();
    });

    it('gets no key for the management port', async () => {
      const key = JSON.stringify({ groupId: 'management', name: 'kept' });
      expect(await statusOf('POST', '/api/keys', 'application/json', key)).toBe(REFUSED);
      const { body } = await api().get('/api/keys').expect(200);
      expect((body as { keys: { name: string }[] }).keys.map(({ name }) => name)).not.toContain('kept');
    });

    it('uploads no file', async () => {
      await api().post('/api/sources').send({ name: 'app', type: 'manual' }).expect(201);
      const path = '/api/sources/app/files/a.ts';
      expect(await statusOf('PUT', path, 'application/octet-stream', 'export default 1;')).toBe(REFUSED);
      await api().get(path).expect(404);
    });
  });

  it('who are deleted are signed out, and cannot sign in', async () => {
    await createUser(manager, 'first@example.com');
    const id = await createUser(manager, 'second@example.com');
    const user = await browser('second@example.com');
    await api().delete(`/api/users/${id}`).expect(200);
    expect((await user.send('get', '/api/auth/session')).status).toBe(401);
    await expect(browser('second@example.com')).rejects.toThrow('sign-in failed');
  });

  it('are not deleted where it is their own account (403), the first user (403) or the last administrator (409)', async () => {
    const first = await createUser(manager, 'first@example.com');
    const second = await createUser(manager, 'second@example.com', 'admin');
    const user = await browser('second@example.com');
    expect((await user.send('delete', `/api/users/${second}`)).status).toBe(403);
    expect((await user.send('delete', `/api/users/${first}`)).status).toBe(403);
    await api().delete(`/api/users/${first}`).expect(403);
    await api().put(`/api/users/${first}`).send({ role: 'editor' }).expect(200);
    const last = { error: 'second@example.com is the last administrator: make another user an administrator first.' };
    expect((await api().delete(`/api/users/${second}`).expect(409)).body).toMatchObject(last);
    for (const role of ['editor', 'viewer'])
      expect((await api().put(`/api/users/${second}`).send({ role }).expect(409)).body).toMatchObject(last);
    await api().put(`/api/users/${first}`).send({ role: 'admin' }).expect(200);
    await api().delete(`/api/users/${second}`).expect(200);
  });

  it('keep one administrator where two demote each other at once', async () => {
    const ids = [await createUser(manager, 'a@example.com'), await createUser(manager, 'b@example.com', 'admin')];
    const answers = await Promise.all(ids.map((id) => api().put(`/api/users/${id}`).send({ role: 'viewer' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('M9: leave audit records with the user as actor, without a password', async () => {
    const id = await createUser(manager, 'first@example.com');
    const user = await browser('first@example.com');
    await user.send('post', '/api/users', { body: account('second@example.com') });
    await expect(browser('first@example.com', 'wrong-password')).rejects.toThrow();
    await user.send('post', '/api/auth/sign-out');
    const actor = { type: 'user', id, name: 'first@example.com' };
    const records = (await manager.audited()).slice(-5);
    expect(records).toMatchObject([
      { action: 'user.create', actor: { type: 'key' }, object: { kind: 'User', id, name: 'first@example.com' } },
      { action: 'session.sign-in', actor, object: { kind: 'User', id }, result: 'ok' },
      { action: 'user.create', actor, object: { name: 'second@example.com' }, result: 'ok' },
      {
        action: 'session.sign-in',
        actor: { id: null },
        object: { id: null, name: 'first@example.com' },
        result: 'denied',
      },
      { action: 'session.sign-out', actor, object: { id }, result: 'ok' },
    ]);
    expect(JSON.stringify(records)).not.toMatch(/battery|wrong-password|argon2/);
  });
});

describe('the first user (M1)', () => {
  let manager: TestManager;
  const setUp = (fields: object = {}) =>
    supertest(manager.server)
      .post('/web/setup')
      .send({ ...account('first@example.com'), token: SETUP_TOKEN, ...fields });

  afterEach(() => manager.stop());

  it('is one of 50 who try at once, and nobody afterwards, without a restart', async () => {
    manager = await startTestManager();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => setUp({ email: `user${at}@example.com`, name: `User ${at}` })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(49).fill(404)]);
    const [user, ...others] = manager.users.users();
    expect([user?.role, user?.isFirst, others]).toEqual(['admin', true, []]);
    for (const body of [{}, { token: 'wrong' }, { email: 3 }]) expect((await setUp(body)).status).toBe(404);
    expect((await supertest(manager.server).get('/web/setup')).status).toBe(404);
    await new Browser(manager).signIn(user?.email ?? '');
    const records = (await manager.audited()).filter(({ action }) => action === 'user.set-up');
    expect(records.filter(({ result }) => result === 'ok')).toMatchObject([
      { actor: { type: 'user', id: user?.id, name: user?.email }, object: { kind: 'User', id: user?.id } },
    ]);
  });

  it('needs the token, and is refused without one', async () => {
    manager = await startTestManager();
    for (const token of ['', 'wrong', `${SETUP_TOKEN}x`]) expect((await setUp({ token })).status).toBe(401);
    expect((await setUp({ token: undefined })).status).toBe(400);
    expect(manager.users.users()).toEqual([]);
  });

  it('cannot be set up where no token was made', async () => {
    manager = await startTestManager({ setupToken: undefined });
    expect((await setUp({ token: '' })).status).toBe(404);
  });

  it('is created unattended by the first start, and by no later one', async () => {
    manager = await startTestManager({ firstUser: { email: 'ops@example.com', password: PASSWORD } });
    await new Browser(manager).signIn('ops@example.com');
    expect((await setUp()).status).toBe(404);
    expect((await manager.audited()).filter(({ action }) => action === 'user.create')).toMatchObject([
      { actor: { type: 'system' }, object: { kind: 'User', name: 'ops@example.com' }, result: 'ok' },
    ]);
    const { users } = manager;
    const again = await startTestManager({ users, firstUser: { email: 'new@example.com', password: PASSWORD } });
    expect(users.users().map(({ email }) => email)).toEqual(['ops@example.com']);
    await again.stop();
  });
});
