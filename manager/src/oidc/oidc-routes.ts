import { DomainError, invalid, notFound } from '@wherry/core/errors.ts';
import { SIGN_IN_COOKIE as COOKIE } from '@wherry/core/management-cookies.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import type { Connection } from '../http/connection.ts';
import { routes, type Route } from '../http/endpoint.ts';
import { readCookie, setCookie } from '../sessions/session-cookie.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { SignInThrottle } from '../sessions/sign-in-throttle.ts';
import { userActor, userObject } from '../users/user-routes.ts';
import type { UserService } from '../users/user-service.ts';
import { admitAccount } from './admit-account.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { localTarget } from './local-target.ts';
import type { OidcConfig } from './oidc-config.ts';
import { oidcEndpoints } from './oidc-endpoints.ts';
import { PENDING_SECONDS, PendingSignIns } from './pending-sign-ins.ts';
import { MANAGER_LIMITS } from '../limits.ts';

/** A DNS name of 255 octets, and a port. */
const HOST_CHARACTERS = 261;
const HOST = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;

interface OidcRoutesOptions {
  /** Undefined: nobody can sign in this way. */
  config: OidcConfig | undefined;
  sessions: Sessions;
  users: UserService;
  clock: Clock;
  logger: Logger;
}

export function oidcRoutes({ config, sessions, users, clock, logger }: OidcRoutesOptions): Route[] {
  if (config === undefined) return routes(oidcEndpoints, { start: notConfigured, callback: notConfigured });
  const provider = loadOnce({ config, clock, logger });
  const pending = new PendingSignIns(clock);
  const throttle = new SignInThrottle(clock, {
    maxFailures: MANAGER_LIMITS.providerFailures,
    // Nothing is hashed, and each one that runs counts as failed.
    maxAtOnce: MANAGER_LIMITS.providerFailures,
    what: 'Sign-in with OpenID Connect',
  });

  return routes(oidcEndpoints, {
    start: async ({ query, connection, clientAddress }) => {
      const redirectUri = callbackUrl(connection);
      const { url, checks } = await (await provider()).begin(redirectUri);
      const id = pending.add({ checks, redirectUri, to: localTarget(query.to) }, clientAddress ?? '');
      return redirect(url.href, [setCookie(COOKIE, id, { seconds: PENDING_SECONDS, connection })]);
    },
    callback: async (call) => {
      const { request, connection } = call;
      const id = readCookie(COOKIE, request, connection);
      const begun = pending.find(id);
      // Only an answer for this sign-in ends it: any page can make the browser send another one.
      if (begun === undefined || call.query.state !== begun.checks.expectedState) throw doesNotFit();
      const returned = new URL(begun.redirectUri);
      returned.search = new URL(request.url ?? '', begun.redirectUri).search;
      const claims = await throttle.attempt('', call.clientAddress ?? '', async () => {
        pending.take(id);
        return (await provider()).finish(returned, begun.checks);
      });
      if (claims === undefined) throw doesNotFit();
      call.concerns({ name: typeof claims.email === 'string' ? claims.email : claims.sub });
      const { user, action } = await users.admit(admitAccount(claims, config));
      const actor = userActor(user);
      if (action !== undefined) await call.hasDone([{ ...userObject(user), action }], actor);
      const cookie = await sessions.begin(user, call);
      return {
        ...redirect(begun.to, [cookie, setCookie(COOKIE, '', { seconds: 0, connection })]),
        objects: [userObject(user)],
        actor,
      };
    },
  });
}

/** The library is loaded when somebody first signs in with it: most installations never do. */
function loadOnce(options: ConstructorParameters<typeof IdentityProvider>[0]): () => Promise<IdentityProvider> {
  let loading: Promise<IdentityProvider> | undefined;
  const load = async (): Promise<IdentityProvider> => {
    try {
      return new (await import('./identity-provider.ts')).IdentityProvider(options);
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
  return () => (loading ??= load());
}

function redirect(location: string, cookies: string[]) {
  return { headers: { Location: location, 'Set-Cookie': cookies, 'Referrer-Policy': 'no-referrer' } };
}

/** As the browser reaches it; the provider knows it as well, so no other host can take this one's place. */
function callbackUrl({ host, isPlain }: Connection): string {
  const base = `${isPlain ? 'http' : 'https'}://${host}`;
  if (host.length > HOST_CHARACTERS)
    throw invalid(`The Host header of the request is longer than ${HOST_CHARACTERS} characters.`);
  if (!HOST.test(host) || !URL.canParse(base)) throw invalid('The Host header of the request is not a host.');
  return new URL(oidcEndpoints.callback.path, base).href;
}

async function notConfigured(): Promise<never> {
  throw notFound('Sign-in with OpenID Connect is not configured here: WHERRY_OIDC_ISSUER is not set.');
}

function doesNotFit(): DomainError {
  return new DomainError(
    'unauthorized',
    'This does not complete a sign-in that began in this browser: it is already complete, took longer than 10 minutes, or the answer of the provider is not valid for it. Sign in again.',
  );
}
