import { DatabaseSync } from 'node:sqlite';
import { transaction } from '@wherry/service/transaction.ts';
import { emailKey, type SessionRecord, type UserChange, type UserData, type UserRecord } from './user-record.ts';

const VERSION = 1;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS users (
    id TEXT PRIMARY KEY,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    email_verified INTEGER NOT NULL,
    name TEXT,
    image TEXT,
    role TEXT NOT NULL,
    is_first INTEGER NOT NULL,
    password_hash TEXT,
    issuer TEXT,
    subject TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    UNIQUE (issuer, subject)
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS one_first_user ON users (is_first) WHERE is_first = 1;
  CREATE TABLE IF NOT EXISTS sessions (
    hash TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at REAL NOT NULL,
    last_used_at REAL NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS sessions_by_user ON sessions (user_id);
  CREATE TABLE IF NOT EXISTS user_settings (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (user_id, name)
  ) STRICT;
`;

interface UserRow {
  id: string;
  email: string;
  email_verified: number;
  name: string | null;
  image: string | null;
  role: UserRecord['role'];
  is_first: number;
  password_hash: string | null;
  issuer: string | null;
  subject: string | null;
  created_at: number;
  updated_at: number;
}

/** The tables of users, sessions and users' settings. Synchronous, as node:sqlite is, so it runs in a worker thread. */
export class UserDatabase {
  readonly #database: DatabaseSync;

  /**
   * @param file path, or `:memory:`.
   * @throws Error where the file is damaged, no database, or of a newer version.
   */
  constructor(file: string) {
    this.#database = new DatabaseSync(file);
    try {
      // FULL: what was acknowledged is on the disk, even if the process is killed or the machine loses power.
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;');
      this.#refuseDamage();
      this.#database.exec(`${SCHEMA} PRAGMA user_version = ${VERSION};`);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** All rows. */
  load(): UserData {
    const users = this.#database.prepare('SELECT * FROM users ORDER BY created_at, id').all();
    const sessions = this.#database
      .prepare('SELECT hash, user_id AS userId, created_at AS createdAt, last_used_at AS lastUsedAt FROM sessions')
      .all();
    const settings = this.#database.prepare('SELECT user_id AS userId, name, value FROM user_settings').all();
    return {
      users: (users as unknown as UserRow[]).map(recordOf),
      sessions: sessions.map((row) => ({ ...row }) as unknown as SessionRecord),
      settings: settings.map((row) => ({ ...row }) as unknown as UserData['settings'][number]),
    };
  }

  /** Makes all changes or none. */
  write(changes: readonly UserChange[]): void {
    transaction(this.#database, () => {
      for (const change of changes) this.#apply(change);
    });
  }

  close(): void {
    this.#database.close();
  }

  #refuseDamage(): void {
    const [first] = this.#database.prepare('PRAGMA quick_check(1)').all();
    if (first?.['quick_check'] !== 'ok') throw new Error(`it is damaged: ${String(first?.['quick_check'])}`);
    const version = Number(this.#database.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > VERSION) throw new Error(`it was written by a newer Wherry (schema ${version})`);
  }

  #apply(change: UserChange): void {
    const run = (sql: string, ...values: (string | number | null)[]): void => {
      this.#database.prepare(sql).run(...values);
    };
    if ('touch' in change) run('UPDATE sessions SET last_used_at = ? WHERE hash = ?', change.lastUsedAt, change.hash);
    else if ('put' in change) this.#put(change, run);
    else if (change.remove === 'user') run('DELETE FROM users WHERE id = ?', change.id);
    else if (change.remove === 'session') run('DELETE FROM sessions WHERE hash = ?', change.hash);
    else run('DELETE FROM user_settings WHERE user_id = ? AND name = ?', change.userId, change.name);
  }

  #put(
    change: Extract<UserChange, { put: string }>,
    run: (sql: string, ...values: (string | number | null)[]) => void,
  ): void {
    if (change.put === 'user') {
      const values = columnsOf(change.user);
      const names = Object.keys(values);
      const updates = names.filter((name) => name !== 'id').map((name) => `${name} = excluded.${name}`);
      run(
        `INSERT INTO users (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
         ON CONFLICT (id) DO UPDATE SET ${updates.join(', ')}`,
        ...Object.values(values),
      );
    } else if (change.put === 'session') {
      const { hash, userId, createdAt, lastUsedAt } = change.session;
      run('INSERT INTO sessions VALUES (?, ?, ?, ?)', hash, userId, createdAt, lastUsedAt);
    } else {
      const { userId, name, value } = change.setting;
      run(
        'INSERT INTO user_settings VALUES (?, ?, ?) ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value',
        userId,
        name,
        value,
      );
    }
  }
}

function columnsOf(user: UserRecord): Record<keyof UserRow | 'email_key', string | number | null> {
  return {
    id: user.id,
    email: user.email,
    email_key: emailKey(user.email),
    email_verified: Number(user.emailVerified),
    name: user.name,
    image: user.image,
    role: user.role,
    is_first: Number(user.isFirst),
    password_hash: user.passwordHash,
    issuer: user.identity?.issuer ?? null,
    subject: user.identity?.subject ?? null,
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  };
}

function recordOf(row: UserRow): UserRecord {
  return {
    id: row.id,
    email: row.email,
    emailVerified: row.email_verified === 1,
    name: row.name,
    image: row.image,
    role: row.role,
    isFirst: row.is_first === 1,
    passwordHash: row.password_hash,
    identity: row.issuer === null || row.subject === null ? null : { issuer: row.issuer, subject: row.subject },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
