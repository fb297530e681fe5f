import { deceptiveCharacters } from '@wherry/core/deceptive-characters.ts';
import { DomainError } from '@wherry/core/errors.ts';
import { ROLES, type Identity, type Role } from '../users/user-record.ts';
import { emailSchema } from '../users/user-schemas.ts';
import type { Claims } from './identity-provider.ts';
import type { OidcConfig } from './oidc-config.ts';

/** An account of the provider that may sign in. */
export interface ProvidedAccount {
  identity: Identity;
  email: string;
  /** The provider vouches for it. */
  emailVerified: boolean;
  name: string | null;
  image: string | null;
  /** What the provider says; undefined: roles are given in Wherry. */
  role: Role | undefined;
  /** Of a user who is new here. */
  firstRole: Role;
}

type Rules = Pick<OidcConfig, 'allowedDomains' | 'roleClaim' | 'roles' | 'defaultRole'>;

/** Whether an account may sign in, and as what. @throws DomainError `forbidden`, which says why not. */
export function admitAccount(claims: Claims, rules: Rules): ProvidedAccount {
  const email = emailSchema.safeParse(claims.email).data;
  if (email === undefined)
    throw refusal('The OpenID Connect provider gives no email: WHERRY_OIDC_SCOPES must contain the scope that has it.');
  const emailVerified = claims.email_verified === true;
  requireDomain({ email, emailVerified }, rules);
  const { roleClaim, defaultRole } = rules;
  const role = roleClaim === undefined ? undefined : (highestRole(claims[roleClaim], rules) ?? defaultRole);
  const firstRole = role ?? defaultRole;
  if (firstRole === undefined || (roleClaim !== undefined && role === undefined))
    throw refusal(`The OpenID Connect provider gives ${email} no role: the claim ${roleClaim ?? ''} has none.`);
  return {
    identity: { issuer: claims.iss, subject: claims.sub },
    email,
    emailVerified,
    name: nameOf(claims.name),
    image: imageOf(claims.picture),
    role,
    firstRole,
  };
}

/** Anybody can enter any email at some provider: one that is not verified is of no domain. */
function requireDomain(
  { email, emailVerified }: Pick<ProvidedAccount, 'email' | 'emailVerified'>,
  { allowedDomains }: Rules,
): void {
  if (allowedDomains.length === 0) return;
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  if (!allowedDomains.includes(domain))
    throw refusal(`${email} is of a domain that WHERRY_OIDC_ALLOWED_DOMAINS does not name.`);
  if (!emailVerified) throw refusal(`The OpenID Connect provider has not verified ${email}.`);
}

/** Of the claim's value, or of each of its values. */
function highestRole(claim: unknown, { roles }: Rules): Role | undefined {
  const values: unknown[] = Array.isArray(claim) ? claim : [claim];
  const given = roles.filter(({ value }) => values.includes(value)).map(({ role }) => role);
  return ROLES.findLast((role) => given.includes(role));
}

function nameOf(name: unknown): string | null {
  const isUsable = typeof name === 'string' && /\S/.test(name) && deceptiveCharacters(name) === undefined;
  return isUsable && name.length <= 128 ? name : null;
}

function imageOf(picture: unknown): string | null {
  const isUsable = typeof picture === 'string' && picture.length <= 2048 && URL.canParse(picture);
  return isUsable && new URL(picture).protocol === 'https:' ? picture : null;
}

function refusal(message: string): DomainError {
  return new DomainError('forbidden', message);
}
