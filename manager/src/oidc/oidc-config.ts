import { StartError } from '@wherry/service/start-error.ts';
import { z } from 'zod';
import { ROLES, type Role } from '../users/user-record.ts';
import { isProtected } from './bounded-fetch.ts';

const listVariable = z
  .string()
  .max(4096)
  .default('')
  .transform((text) => text.split(',').flatMap((entry) => entry.trim() || []));

const DOMAIN = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z0-9-]+$/;
const ROLE_OF_VALUE = new RegExp(`^(${ROLES.join('|')})=(.+)$`);

/** The variables about sign-in with OpenID Connect. */
export const oidcEnvironment = {
  WHERRY_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an https URL' })
    .refine(
      (url) => !URL.canParse(url) || isProtected(new URL(url)),
      'must be an https URL; http is accepted only for loopback addresses',
    )
    .optional(),
  WHERRY_OIDC_CLIENT_ID: z.string().max(1024).optional(),
  WHERRY_OIDC_CLIENT_SECRET: z.string().max(4096).optional(),
  WHERRY_OIDC_SCOPES: z
    .string()
    .max(1024)
    .refine((scopes) => scopes.split(' ').includes('openid'), 'must contain openid; scopes are separated by spaces')
    .default('openid email profile'),
  WHERRY_OIDC_ALLOWED_DOMAINS: listVariable
    .transform((domains) => domains.map((domain) => domain.toLowerCase()))
    .refine((domains) => domains.every((domain) => DOMAIN.test(domain)), 'must be domains such as example.com'),
  WHERRY_OIDC_ROLE_CLAIM: z.string().max(256).optional(),
  WHERRY_OIDC_ROLES: listVariable
    .refine((pairs) => pairs.every((pair) => ROLE_OF_VALUE.test(pair)), 'must be pairs such as admin=wherry-admins')
    .transform((pairs) => pairs.map(roleOfValue)),
  WHERRY_OIDC_DEFAULT_ROLE: z.enum(['viewer', 'editor'], 'must be viewer or editor').optional(),
};

type OidcVariables = z.infer<z.ZodObject<typeof oidcEnvironment>>;

/** Sign-in with an OpenID Connect provider. */
export interface OidcConfig {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Separated by spaces. */
  scopes: string;
  /** Lowercase domains of emails that may sign in; empty: all. */
  allowedDomains: readonly string[];
  /** The claim that has the role; undefined: roles are given in Wherry. */
  roleClaim: string | undefined;
  /** Which role a value of that claim stands for. */
  roles: readonly RoleOfValue[];
  /** Of a user without a role by the claim; undefined: they may not sign in. */
  defaultRole: Role | undefined;
}

interface RoleOfValue {
  role: Role;
  value: string;
}

/**
 * @returns undefined where it is not configured.
 * @throws StartError for a variable that needs another.
 */
export function oidcConfig(set: OidcVariables): OidcConfig | undefined {
  const { WHERRY_OIDC_ISSUER: issuer, WHERRY_OIDC_CLIENT_ID: clientId, WHERRY_OIDC_CLIENT_SECRET: clientSecret } = set;
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined)
    throw new StartError(
      'WHERRY_OIDC_ISSUER, WHERRY_OIDC_CLIENT_ID and WHERRY_OIDC_CLIENT_SECRET belong together: set all of them, or none',
    );
  const { WHERRY_OIDC_ROLE_CLAIM: roleClaim, WHERRY_OIDC_ROLES: given } = set;
  requireRule(set);
  return {
    issuer,
    clientId,
    clientSecret,
    scopes: set.WHERRY_OIDC_SCOPES,
    allowedDomains: set.WHERRY_OIDC_ALLOWED_DOMAINS,
    roleClaim,
    roles: given.length > 0 ? given : ROLES.map((role) => ({ role, value: role })),
    defaultRole: set.WHERRY_OIDC_DEFAULT_ROLE ?? (roleClaim === undefined ? 'editor' : undefined),
  };
}

/** Who may sign in must be said. */
function requireRule(set: OidcVariables): void {
  const { WHERRY_OIDC_ROLE_CLAIM: roleClaim, WHERRY_OIDC_ROLES: given } = set;
  if (roleClaim === undefined && set.WHERRY_OIDC_ALLOWED_DOMAINS.length === 0)
    throw new StartError(
      'WHERRY_OIDC_ISSUER needs WHERRY_OIDC_ALLOWED_DOMAINS or WHERRY_OIDC_ROLE_CLAIM: without either, everybody with an account at the provider could sign in',
    );
  if (roleClaim === undefined && given.length > 0)
    throw new StartError('WHERRY_OIDC_ROLES needs WHERRY_OIDC_ROLE_CLAIM, the claim that has these values');
}

function roleOfValue(pair: string): RoleOfValue {
  const [, role = '', value = ''] = ROLE_OF_VALUE.exec(pair) ?? [];
  return { role: role as Role, value };
}
