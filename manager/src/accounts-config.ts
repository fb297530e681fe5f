import { StartError } from '@wherry/service/start-error.ts';
import { z } from 'zod';
import type { FirstUser } from './first-start/ensure-first-user.ts';
import { oidcConfig, oidcEnvironment, type OidcConfig } from './oidc/oidc-config.ts';
import { emailSchema, passwordSchema } from './users/user-schemas.ts';

/** The variables about users and sessions, of the manager and of the service on one machine. */
export const accountsEnvironment = {
  WHERRY_ADMIN_EMAIL: emailSchema.optional(),
  WHERRY_ADMIN_PASSWORD: passwordSchema.optional(),
  WHERRY_INSECURE_COOKIES: z.enum(['true', 'false']).default('false'),
  ...oidcEnvironment,
};

export interface AccountsConfig {
  /** Created at a start without any user. */
  firstUser: FirstUser | undefined;
  /** Session cookies are accepted over plain HTTP from anywhere. */
  allowPlainCookies: boolean;
  /** Undefined: nobody signs in with OpenID Connect. */
  oidc: OidcConfig | undefined;
}

/** @throws StartError for one that needs another. */
export function accountsConfig(set: z.infer<z.ZodObject<typeof accountsEnvironment>>): AccountsConfig {
  const { WHERRY_ADMIN_EMAIL: email, WHERRY_ADMIN_PASSWORD: password } = set;
  if ((email === undefined) !== (password === undefined))
    throw new StartError('WHERRY_ADMIN_EMAIL and WHERRY_ADMIN_PASSWORD belong together: set both, or neither');
  return {
    firstUser: email === undefined || password === undefined ? undefined : { email, password },
    allowPlainCookies: set.WHERRY_INSECURE_COOKIES === 'true',
    oidc: oidcConfig(set),
  };
}
