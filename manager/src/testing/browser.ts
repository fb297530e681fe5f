import supertest from 'supertest';
import type { Role } from '../users/user-record.ts';
import { KEY, type TestManager } from './test-manager.ts';

export const PASSWORD = 'correct horse battery';

/** A browser on this machine: it keeps its cookies, and says where its requests come from. */
export class Browser {
  readonly #manager: Pick<TestManager, 'server'>;
  #cookies = new Map<string, string>();

  constructor(manager: Pick<TestManager, 'server'>) {
    this.#manager = manager;
  }

  /** All of them, as in a request. */
  get cookie(): string {
    return [...this.#cookies].map((pair) => pair.join('=')).join('; ');
  }

  set cookie(text: string) {
    this.#cookies = new Map();
    for (const pair of text.split('; ')) this.#keep(pair);
  }

  /** The value of the session cookie. */
  get session(): string {
    return [...this.#cookies].find(([name]) => name.endsWith('wherry_session'))?.[1] ?? '';
  }

  async send(
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
  ): Promise<supertest.Response> {
    const all = { Host: 'localhost:9000', 'Sec-Fetch-Site': 'same-origin', ...headers };
    const request = supertest(this.#manager.server)[method](path).set(all);
    if (this.cookie !== '' && !('Cookie' in headers)) request.set('Cookie', this.cookie);
    const answer = await (body === undefined ? request : request.send(body));
    for (const set of (answer.headers['set-cookie'] as unknown as string[] | undefined) ?? []) this.#keep(set);
    return answer;
  }

  #keep(set: string): void {
    const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(set) ?? [];
    if (name !== '') this.#cookies.set(name, value);
  }

  /** @throws Error unless it succeeds. */
  async signIn(email: string, password = PASSWORD): Promise<this> {
    const answer = await this.send('post', '/api/auth/sign-in/email', { body: { email, password } });
    if (answer.status !== 200) throw new Error(`sign-in failed: ${answer.text}`);
    return this;
  }
}

/** Creates a user with the management key. @returns its id. */
export async function createUser(manager: TestManager, email: string, role?: Role): Promise<string> {
  const body = { email, password: PASSWORD, passwordConfirmation: PASSWORD, ...(role === undefined ? {} : { role }) };
  const answer = await supertest(manager.server).post('/api/users').set('X-API-Key', KEY).send(body).expect(201);
  return (answer.body as { id: string }).id;
}
