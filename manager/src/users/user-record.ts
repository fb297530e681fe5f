/** From the least rights to the most. */
export const ROLES = ['viewer', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Of an account of an OpenID Connect provider: its issuer's URL and the user's id there. */
export interface Identity {
  issuer: string;
  subject: string;
}

/** A user as the database has it. */
export interface UserRecord {
  id: string;
  /** Unique, whatever its case. */
  email: string;
  /** A provider vouched for it. */
  emailVerified: boolean;
  name: string | null;
  /** URL of a picture, of the provider. */
  image: string | null;
  role: Role;
  /** It was created first: it cannot be deleted. */
  isFirst: boolean;
  /** PHC string; null for a user who signs in with OpenID Connect alone. */
  passwordHash: string | null;
  identity: Identity | null;
  /** Milliseconds since 1970 UTC. */
  createdAt: number;
  updatedAt: number;
}

/** A session as the database has it. */
export interface SessionRecord {
  /** SHA-256 of its id: the id itself is in its cookie alone. */
  hash: string;
  userId: string;
  /** Milliseconds since 1970 UTC. */
  createdAt: number;
  lastUsedAt: number;
}

/** A setting of one user. */
interface UserSettingRecord {
  userId: string;
  name: string;
  value: string;
}

/** Everything in the database. */
export interface UserData {
  users: UserRecord[];
  sessions: SessionRecord[];
  settings: UserSettingRecord[];
}

/** One step of a write. */
export type UserChange =
  | { put: 'user'; user: UserRecord }
  /** With its sessions and settings. */
  | { remove: 'user'; id: string }
  | { put: 'session'; session: SessionRecord }
  | { remove: 'session'; hash: string }
  /** Nothing, where the session has ended. */
  | { touch: 'session'; hash: string; lastUsedAt: number }
  | { put: 'setting'; setting: UserSettingRecord }
  | { remove: 'setting'; userId: string; name: string };

/** Emails are compared in this form. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase();
}
