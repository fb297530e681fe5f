import { z } from 'zod';
import { deceptiveCharacters } from '@wherry/core/deceptive-characters.ts';
import { textSchema } from '@wherry/core/resources/text.ts';
import { PLAIN_NAME } from '../http/patterns.ts';
import { fixedSchema, isoTime, SETS_NOTHING, setsSomething, timeSchema } from '../object-access/shape.ts';
import { ROLES, type UserRecord } from './user-record.ts';

export const emailSchema = z.email('must be an email address').max(254);

/** Characters are counted, and any may be used; longer ones would only make hashing slower. */
export const passwordSchema = textSchema(8, 256);

const name = textSchema(1, 128)
  .regex(/\S/, 'must not be blank')
  .superRefine((value, context) => {
    const problem = deceptiveCharacters(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .meta(PLAIN_NAME)
  .nullish();

const role = z.enum(ROLES).describe('What the user may do; editor by default');

const isConfirmed = (body: { password?: unknown; passwordConfirmation?: unknown }): boolean =>
  body.password === body.passwordConfirmation;
const CONFIRMATION = { path: ['passwordConfirmation'], message: 'must be the same as password' };

const account = { email: emailSchema, password: passwordSchema, passwordConfirmation: z.string().max(256), name };

export const userCreateSchema = z.strictObject({ ...account, role: role.optional() }).refine(isConfirmed, CONFIRMATION);
export type UserCreate = z.output<typeof userCreateSchema>;

export const setupSchema = z
  .strictObject({ ...account, token: z.string().max(256).describe('The setup token, which start-up shows') })
  .refine(isConfirmed, CONFIRMATION);

export const userUpdateSchema = z
  .strictObject({
    email: fixedSchema,
    password: passwordSchema.optional().describe('Ends the other sessions of the user'),
    passwordConfirmation: z.string().max(256).optional(),
    name,
    role: role.optional(),
  })
  .refine(isConfirmed, CONFIRMATION)
  .refine(setsSomething, SETS_NOTHING);
export type UserUpdate = z.output<typeof userUpdateSchema>;

export const USER_READ_ONLY = ['id', 'emailVerified', 'image', 'banned', 'createdAt', 'updatedAt'] as const;

export const userViewSchema = z
  .strictObject({
    id: z.string(),
    email: z.string(),
    emailVerified: z.boolean().describe('The OpenID Connect provider vouches for it'),
    name: z.string().nullable(),
    image: z.string().nullable(),
    role: z.enum(ROLES),
    banned: z.boolean(),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  })
  .meta({ id: 'User' });
type UserView = z.output<typeof userViewSchema>;
export const userListSchema = z.strictObject({ users: z.array(userViewSchema) });

export function userView(user: UserRecord): UserView {
  const { id, email, emailVerified, name: shown, image, role: its, createdAt, updatedAt } = user;
  return {
    id,
    email,
    emailVerified,
    name: shown,
    image,
    role: its,
    // Nothing bans a user: who may no longer sign in is deleted.
    banned: false,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
