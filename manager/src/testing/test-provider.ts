import { createPrivateKey, generateKeyPairSync, sign, type JsonWebKey, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Adapter, type AdapterPayload, type KoaContextWithOIDC } from 'oidc-provider';
import type { OidcConfig } from '../oidc/oidc-config.ts';

const CLIENT_SECRET = 'the-secret-of-the-client';
/** Of a manager that `Browser` reaches. */
const CALLBACK = 'http://localhost:9000/api/auth/oidc/callback';

type Claims = Record<string, unknown>;

/** A real OpenID Connect provider on loopback, which signs in whoever a test says without a form. */
export class TestProvider {
  readonly #server: Server;
  readonly #key: KeyObject;
  readonly #accounts = new Map<string, Claims>();
  /** Who signs in next; undefined: whoever it is refuses. */
  subject: string | undefined;
  /** Changes the claims of the next ID tokens, which are signed again: with `key`, where it has one. */
  forge: ((claims: Claims) => { claims: Claims; key?: KeyObject }) | undefined;
  /** Requests for tokens. */
  tokenRequests = 0;

  private constructor(server: Server, key: JsonWebKey) {
    this.#server = server;
    this.#key = createPrivateKey({ key, format: 'jwk' });
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: 'wherry',
          client_secret: CLIENT_SECRET,
          redirect_uris: [CALLBACK],
          response_types: ['code'],
          grant_types: ['authorization_code'],
          id_token_signed_response_alg: 'ES256',
        },
      ],
      jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig' }] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture', 'groups'] },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...this.#accounts.get(id), sub: id }) }),
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      loadExistingGrant,
      cookies: { keys: ['a test'] },
      ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
      adapter: MemoryAdapter,
    });
    provider.use(async (context, next) => {
      if (context.path.startsWith('/interaction/')) {
        const { subject } = this;
        const result = subject === undefined ? { error: 'access_denied' } : { login: { accountId: subject } };
        context.respond = false;
        await provider.interactionFinished(context.req, context.res, result);
        return;
      }
      await next();
      if (context.path !== '/token') return;
      this.tokenRequests += 1;
      const body = context.body as { id_token?: string };
      if (this.forge !== undefined && body.id_token !== undefined)
        body.id_token = this.#forged(body.id_token, this.forge);
    });
    // Its callback is express's and Koa's kind of listener: it never rejects.
    server.on('request', (request, response) => void provider.callback()(request, response));
  }

  static async start(): Promise<TestProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return new TestProvider(server, privateKey.export({ format: 'jwk' }));
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Of a manager that uses it. */
  config(fields: Partial<OidcConfig> = {}): OidcConfig {
    return {
      issuer: this.issuer,
      clientId: 'wherry',
      clientSecret: CLIENT_SECRET,
      scopes: 'openid email profile',
      allowedDomains: [],
      roleClaim: 'groups',
      roles: (['viewer', 'editor', 'admin'] as const).map((role) => ({ role, value: role })),
      defaultRole: undefined,
      ...fields,
    };
  }

  /** Makes or changes an account, which signs in next. */
  as(subject: string, claims: Claims): void {
    this.#accounts.set(subject, claims);
    this.subject = subject;
  }

  /** What a browser without cookies of the provider does from here on. @returns where the provider sends it back to. */
  async follow(location: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let url = new URL(location);
    while (url.origin === this.issuer) {
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
      const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      const next = answer.headers.get('location');
      if (next === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
      url = new URL(next, url);
    }
    return url;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  #forged(token: string, forge: NonNullable<TestProvider['forge']>): string {
    const [header = '', payload = ''] = token.split('.');
    const { claims, key = this.#key } = forge(JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims);
    const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
    const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }
}

/** What the provider remembers of one kind: without an adapter it warns of its own one. */
class MemoryAdapter implements Adapter {
  readonly #payloads = new Map<string, AdapterPayload>();

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    this.#payloads.set(id, payload);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#payloads.get(id);
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...this.#payloads.values()].find((payload) => payload.uid === uid);
  }

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const payload = this.#payloads.get(id);
    if (payload !== undefined) payload.consumed = true;
  }

  async destroy(id: string): Promise<void> {
    this.#payloads.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, payload] of this.#payloads) if (payload.grantId === grantId) this.#payloads.delete(id);
  }
}

/** The client may have everything that it requests: nobody is there to consent. */
async function loadExistingGrant({ oidc }: KoaContextWithOIDC) {
  const grant = new oidc.provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
  grant.addOIDCScope('openid email profile');
  await grant.save();
  return grant;
}
