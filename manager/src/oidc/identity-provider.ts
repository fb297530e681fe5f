import {
  AuthorizationResponseError,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type ClientAuth,
  type Configuration,
} from 'openid-client';
import { DomainError } from '@wherry/core/errors.ts';
import type { Clock } from '@wherry/core/ports/clock.ts';
import type { Logger } from '@wherry/core/ports/logger.ts';
import { Backoff } from '@wherry/service/backoff.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { OidcConfig } from './oidc-config.ts';

/** Of each request to the provider. */
const REQUEST_SECONDS = 5;
/** What is known of the provider's endpoints is discovered again after this time, and kept until that succeeds. */
const DISCOVERED_MS = 3_600_000;
const RETRY = { firstMs: 1000, lastMs: 60_000 };

/** What the provider's answer must fit: nobody but this service and, as to the first two, the provider knows it. */
export interface SignInChecks {
  expectedState: string;
  expectedNonce: string;
  pkceCodeVerifier: string;
}

/** What the provider says of a user: `iss` and `sub`, and whatever else its scopes have. */
export type Claims = Record<string, unknown> & { iss: string; sub: string };

interface IdentityProviderOptions {
  config: OidcConfig;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
}

/**
 * The OpenID Connect provider: the authorization code flow with PKCE, state and nonce. Its endpoints are discovered when
 * somebody signs in, so a provider that is away hinders nothing else.
 */
export class IdentityProvider {
  readonly #options: IdentityProviderOptions;
  readonly #backoff = new Backoff(RETRY);
  #known: { configuration: Configuration; until: number } | undefined;
  #discovering: Promise<Configuration> | undefined;
  #retryAt = -Infinity;

  constructor(options: IdentityProviderOptions) {
    this.#options = options;
  }

  /** Where the browser signs in, and what its return must fit. @throws DomainError `unavailable`. */
  async begin(redirectUri: string): Promise<{ url: URL; checks: SignInChecks }> {
    const configuration = await this.#configuration();
    const checks = {
      expectedState: randomState(),
      expectedNonce: randomNonce(),
      pkceCodeVerifier: randomPKCECodeVerifier(),
    };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#options.config.scopes,
      state: checks.expectedState,
      nonce: checks.expectedNonce,
      code_challenge: await calculatePKCECodeChallenge(checks.pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    return { url, checks };
  }

  /**
   * What the provider says of the user who returns with this URL. The library verifies state, code, and the ID token:
   * its signature, issuer, audience, nonce and times.
   * @returns undefined for an answer that does not fit.
   * @throws DomainError `unauthorized` where the provider itself refuses; `unavailable`.
   */
  async finish(callback: URL, checks: SignInChecks): Promise<Claims | undefined> {
    const configuration = await this.#configuration();
    try {
      const tokens = await authorizationCodeGrant(configuration, callback, { ...checks, idTokenExpected: true });
      const claims = tokens.claims();
      if (claims === undefined) return undefined;
      const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
      const userInfo = hasUserInfo ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      return { ...userInfo, ...claims };
    } catch (error) {
      return this.#refused(error);
    }
  }

  async #configuration(): Promise<Configuration> {
    const now = this.#options.clock.monotonic();
    if (this.#known !== undefined && now < this.#known.until) return this.#known.configuration;
    try {
      if (now < this.#retryAt) throw away();
      this.#discovering ??= this.#discover().finally(() => {
        this.#discovering = undefined;
      });
      return await this.#discovering;
    } catch (error) {
      if (this.#known === undefined) throw error;
      return this.#known.configuration;
    }
  }

  async #discover(): Promise<Configuration> {
    const { config, clock, logger } = this.#options;
    const issuer = new URL(config.issuer);
    try {
      const configuration = await discovery(issuer, config.clientId, {}, clientAuth(config.clientSecret), {
        [customFetch]: boundedFetch,
        timeout: REQUEST_SECONDS,
        // Of http, `boundedFetch` lets loopback addresses through alone.
        execute: [enableNonRepudiationChecks, ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : [])],
      });
      this.#backoff.reset();
      this.#known = { configuration, until: clock.monotonic() + DISCOVERED_MS };
      return configuration;
    } catch (error) {
      this.#retryAt = clock.monotonic() + this.#backoff.failed();
      logger.warn({ issuer: config.issuer, reason: reasonOf(error) }, 'WHERRY_OIDC_ISSUER cannot be discovered');
      throw away();
    }
  }

  /** @returns undefined for an answer that does not fit. @throws DomainError */
  #refused(error: unknown): undefined {
    const { logger } = this.#options;
    const reason = reasonOf(error);
    if (error instanceof AuthorizationResponseError) {
      logger.info({ reason, description: error.error_description }, 'the OpenID Connect provider refused a sign-in');
      throw new DomainError('unauthorized', `The OpenID Connect provider refused the sign-in${codeOf(error.error)}.`);
    }
    if (refusesClient(error)) {
      logger.error({ reason }, 'the OpenID Connect provider refuses WHERRY_OIDC_CLIENT_ID, WHERRY_OIDC_CLIENT_SECRET');
      throw new DomainError(
        'unavailable',
        'The OpenID Connect provider rejects the credentials of this service: set WHERRY_OIDC_CLIENT_ID and WHERRY_OIDC_CLIENT_SECRET to those of the client at the provider.',
      );
    }
    if (isAway(error)) {
      logger.warn({ reason }, 'the OpenID Connect provider gave no usable answer');
      throw away();
    }
    logger.warn({ reason }, 'an answer for a sign-in with OpenID Connect was refused');
    return undefined;
  }
}

/** Whichever way of the two the provider takes; without a word of it, Basic is what it must take. */
function clientAuth(secret: string): ClientAuth {
  const post = ClientSecretPost(secret);
  const basic = ClientSecretBasic(secret);
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    return (supported.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

/** RFC 6749: the client's own fault; with the scheme by which it has authenticated, where that was in a header. */
function refusesClient(error: unknown): boolean {
  if (error instanceof WWWAuthenticateChallengeError) return error.cause.some(({ scheme }) => scheme === 'basic');
  return error instanceof ResponseBodyError && ['invalid_client', 'unauthorized_client'].includes(error.error);
}

/** Answers that are none of OpenID Connect: a proxy's, an error page. */
const NO_ANSWER: ReadonlySet<string | undefined> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

function isAway(error: unknown): boolean {
  if (error instanceof ResponseBodyError) return error.status >= 500;
  return error instanceof TypeError || (error instanceof ClientError && NO_ANSWER.has(error.code));
}

function away(): DomainError {
  return new DomainError(
    'unavailable',
    'The OpenID Connect provider (WHERRY_OIDC_ISSUER) cannot be reached: try again in a moment. The log of the service has the reason.',
  );
}

/** For the log, without what the provider says of the user. */
function reasonOf(error: unknown): string {
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) return error.error;
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message} (${cause.message})` : error.message;
}

/** The provider's code, where it is one: it comes from a URL, which anybody could have made. */
function codeOf(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? ` (${code})` : '';
}
