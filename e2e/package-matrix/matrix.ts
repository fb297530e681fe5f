/** How a source names its packages. */
type Form = 'package.json' | 'package.json and lock' | 'npm:' | 'package.json and npm:';

/** One package that authors use, and the outcome of a handler that uses it. */
export interface Row {
  /** The handler is `fixtures/<name>.ts` or `.tsx`; the route is `/<name>`. */
  name: string;
  area: string;
  /** The package itself. */
  package: string;
  form: Form;
  /** Exact versions of what the handler imports: the package first. */
  packages: Record<string, string>;
  /** What the handler answers (JSON or text), or why it cannot be built or loaded. */
  expected: { answer: unknown } | { reason: string; message: RegExp };
}

type Columns = [name: string, form: Form, packages: Record<string, string>, answer: unknown];

const works = (area: string, rows: Columns[]): Row[] =>
  rows.map(([name, form, packages, answer]) => ({
    name,
    area,
    form,
    packages,
    package: first(packages),
    expected: { answer },
  }));

const first = (packages: Record<string, string>): string => Object.keys(packages)[0] ?? '';

const frameworks = works('Frameworks', [
  ['hono', 'package.json and lock', { hono: '4.13.19', '@hono/zod-validator': '0.9.1', zod: '4.6.7' }, { doubled: 40 }],
  ['itty-router', 'npm:', { 'itty-router': '6.0.0' }, { hello: 'itty-router' }],
  ['h3', 'package.json', { h3: '2.0.8' }, { hello: 'h3', n: null }],
  ['elysia', 'npm:', { elysia: '1.4.30' }, { hello: 'elysia', n: 3 }],
  ['fastify', 'npm:', { fastify: '5.12.8' }, { sum: 3 }],
  [
    'express',
    'package.json and lock',
    { express: '5.3.0', 'light-my-request': '6.8.1' },
    { hello: 'ada', body: { loud: true } },
  ],
  ['trpc', 'npm:', { '@trpc/server': '11.25.2', zod: '4.6.7' }, { result: { data: 'hello ada' } }],
  ['graphql-yoga', 'package.json', { 'graphql-yoga': '5.24.1', graphql: '17.1.0' }, { data: { hello: 'hello ada' } }],
  [
    'react',
    'package.json and lock',
    { 'react-dom': '19.3.1', react: '19.3.1' },
    '<ul title="People"><li>ada</li><li>&lt;x&gt;</li></ul>',
  ],
  ['preact', 'npm:', { preact: '11.2.0', 'preact-render-to-string': '6.8.2' }, '<p class="one">hello &lt;ada></p>'],
]);

const validators = works('Validators', [
  ['zod', 'npm:', { zod: '4.6.7' }, { good: { name: 'ada', age: 36 }, bad: ['name', 'age'] }],
  ['valibot', 'package.json', { valibot: '1.5.0' }, { good: true, bad: 'Invalid email: Received "ada"' }],
  [
    'yup',
    'npm:',
    { yup: '1.7.1' },
    { good: { age: 36, name: 'ada' }, problems: ['name is a required field', 'age must be a positive number'] },
  ],
  ['ajv', 'npm:', { ajv: '8.20.0' }, { good: true, bad: false, why: ['must be >= 1'] }],
  [
    'joi',
    'package.json and lock',
    { joi: '18.3.2' },
    { good: { name: 'ada', year: 1915 }, bad: '"name" must only contain alpha-numeric characters' },
  ],
  [
    'arktype',
    'npm:',
    { arktype: '2.2.9' },
    { good: { name: 'ada', age: 36 }, bad: 'name must be at least length 2 (was 1)' },
  ],
]);

const small = works('Dates, ids, numbers', [
  ['dayjs', 'npm:', { dayjs: '1.11.23' }, { utc: '2025-12-24T17:30:00.000Z', week: '2025-12-31' }],
  ['date-fns', 'package.json', { 'date-fns': '4.4.0' }, { next: '2025-11-24', german: 'Freitag' }],
  ['luxon', 'npm:', { luxon: '3.7.2' }, { next: '2025-03-30T12:00:00.000+02:00', hours: 23 }],
  ['moment', 'package.json', { moment: '2.31.0' }, { french: '14 juillet 2025', days: 28 }],
  ['ms', 'npm:', { ms: '2.1.3' }, { number: 172_800_000, text: '2m' }],
  ['nanoid', 'npm:', { nanoid: '6.0.2' }, { length: 21, digits: true, unique: true }],
  ['uuid', 'package.json', { uuid: '14.0.3' }, { named: '4279e975-ce49-520f-81cf-28fea8c1fd79', versions: [4, 7] }],
  ['ulid', 'npm:', { ulid: '3.0.2' }, { time: 1_700_000_000_000, length: 26 }],
  ['cuid2', 'package.json', { '@paralleldrive/cuid2': '3.3.0' }, { good: true, bad: false }],
]);

const templates = works('Templates, Markdown, HTML', [
  ['handlebars', 'package.json', { handlebars: '4.7.10' }, '<b>ADA</b><b>&lt;X&gt;</b>'],
  ['mustache', 'npm:', { mustache: '4.2.0' }, '<h1>A &amp; B</h1><i>1</i><i>2</i>\n'],
  ['ejs', 'package.json', { ejs: '7.0.2' }, '<li>ada</li><li>&lt;x&gt;</li>'],
  ['eta', 'npm:', { eta: '4.6.0' }, 'Hello Ada &lt;3'],
  ['nunjucks', 'package.json', { nunjucks: '3.2.4' }, 'ADA;A&lt;B;'],
  ['liquidjs', 'npm:', { liquidjs: '10.30.1' }, 'Ada, bob: 3'],
  ['pug', 'npm:', { pug: '3.0.4' }, '<ul><li class="one">ada</li><li class="one">&lt;x&gt;</li></ul>'],
  [
    'marked',
    'package.json and lock',
    { marked: '18.2.1' },
    '<h1>Hi</h1>\n<ul>\n<li><input checked="" disabled="" type="checkbox"> <em>done</em></li>\n</ul>\n',
  ],
  ['markdown-it', 'npm:', { 'markdown-it': '15.0.3' }, '<p>See example.org “now” &lt;script&gt;</p>\n'],
  [
    'remark',
    'package.json',
    { remark: '15.0.1', 'remark-html': '16.0.1' },
    '<p>Hello <strong>you</strong> raw</p>\n<blockquote>\n<p>quote</p>\n</blockquote>\n',
  ],
  ['sanitize-html', 'npm:', { 'sanitize-html': '2.18.1' }, '<p>hi <a>y</a></p>'],
  [
    'cheerio',
    'package.json',
    { cheerio: '1.2.0' },
    { texts: ['1', '2'], html: '<li class="a" id="first">1</li><li>2</li>' },
  ],
  ['linkedom', 'npm:', { linkedom: '0.18.12' }, '<p data-seen="1" class="a">one</p><p>two</p>'],
]);

const security = works('Cryptography and sign-in', [
  [
    'jose',
    'npm:',
    { jose: '6.2.17' },
    { payload: { role: 'admin', sub: 'ada', iat: 1_700_000_000 }, forged: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' },
  ],
  [
    'jsonwebtoken',
    'package.json',
    { jsonwebtoken: '9.0.3' },
    { payload: { sub: 'ada', iat: 1_700_000_000 }, wrong: 'invalid signature' },
  ],
  ['bcryptjs', 'npm:', { bcryptjs: '3.0.3' }, { rounds: 4, good: true, bad: false }],
  [
    'noble-hashes',
    'package.json',
    { '@noble/hashes': '2.4.0' },
    { sha3: 'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a', scrypt: '77d6576238657b20' },
  ],
  [
    'tweetnacl',
    'npm:',
    { tweetnacl: '1.0.3' },
    { publicKey: '3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29', good: true },
  ],
  ['otplib', 'package.json', { otplib: '13.5.0' }, { token: '287082', good: true }],
]);

const databases = works('Databases and queues', [
  ['pg', 'package.json', { pg: '8.23.1' }, { literal: "'O''Reilly'", identifier: '"a""b"', refused: 'ECONNREFUSED' }],
  ['postgres', 'npm:', { postgres: '3.4.9' }, { refused: 'ECONNREFUSED' }],
  [
    'mysql2',
    'package.json',
    { mysql2: '3.24.5' },
    { sql: "select * from `users` where id = 7 and name = 'O\\'Reilly'", refused: 'ECONNREFUSED' },
  ],
  [
    'mongodb',
    'npm:',
    { mongodb: '7.8.0' },
    { refused: 'MongoServerSelectionError', size: 28, made: '2024-01-11T14:49:36.000Z' },
  ],
  ['ioredis', 'package.json', { ioredis: '6.0.0' }, { kept: 'hello', missing: null }],
  ['redis', 'npm:', { redis: '6.3.1' }, { kept: 'hello', missing: null }],
  ['libsql', 'package.json', { '@libsql/client': '0.18.0' }, { columns: ['n'], n: 42 }],
  [
    'drizzle-orm',
    'npm:',
    { 'drizzle-orm': '0.45.4' },
    {
      sql: { sql: 'select "id", "name" from "users" where "users"."id" = $1', params: [7] },
      rows: [{ id: 7, name: 'ada' }],
    },
  ],
  [
    'kysely',
    'package.json',
    { kysely: '0.29.9' },
    { sql: 'select "name" from "users" where "id" = $1', parameters: [7], rows: [] },
  ],
  [
    'knex',
    'npm:',
    { knex: '3.3.0' },
    { sql: 'select "id" from "users" where "name" = $1 order by "id" desc limit $2', bindings: ["O'Reilly", 3] },
  ],
  ['amqplib', 'package.json', { amqplib: '2.3.1' }, { refused: 'ECONNREFUSED' }],
  ['nats', 'npm:', { nats: '2.29.3' }, { refused: 'CONNECTION_REFUSED', header: '7', round: { n: 1 } }],
  ['kafkajs', 'package.json', { kafkajs: '2.2.4' }, { refused: 'KafkaJSNumberOfRetriesExceeded' }],
  ['bullmq', 'npm:', { bullmq: '6.7.0', ioredis: '6.0.0' }, { refused: 'ECONNREFUSED', key: 'bull:mail:7' }],
]);

const services = works('AI and cloud services', [
  ['openai', 'package.json', { openai: '7.55.0' }, '/chat/completions Bearer sk-test small'],
  ['anthropic', 'npm:', { '@anthropic-ai/sdk': '1.10.0' }, '/v1/messages Bearer sk-test 16'],
  [
    'google-generative-ai',
    'package.json',
    { '@google/generative-ai': '0.24.1' },
    '/v1beta/models/small:generateContent test-key',
  ],
  ['ai', 'npm:', { ai: '7.0.173', zod: '4.6.7' }, { text: 'tools: weather' }],
  [
    'aws-s3',
    'package.json',
    { '@aws-sdk/client-s3': '3.1169.0', '@aws-sdk/s3-request-presigner': '3.1162.0' },
    {
      host: 'shop.s3.eu-central-1.amazonaws.com',
      path: '/a%20b.txt',
      signature: 'e717ed9307f6f66c4804e28bdacb1c16b4d5290f2e1655f238decce77cd8aa11',
      refused: 'ECONNREFUSED',
    },
  ],
  [
    'aws-dynamodb',
    'package.json and npm:',
    { '@aws-sdk/client-dynamodb': '3.1162.0', '@aws-sdk/lib-dynamodb': '3.1162.0' },
    { asked: 'DynamoDB_20120810.GetItem {"TableName":"items","Key":{"id":{"S":"1"}}}', n: 7 },
  ],
  [
    'azure-storage-blob',
    'package.json',
    { '@azure/storage-blob': '12.34.0' },
    { url: 'https://shop.blob.core.windows.net/items/a%20b.txt', signed: true },
  ],
  [
    'google-cloud-storage',
    'npm:',
    { '@google-cloud/storage': '8.4.0' },
    { host: 'storage.googleapis.com', path: '/items/a%20b.txt', algorithm: 'GOOG4-RSA-SHA256' },
  ],
  [
    'stripe',
    'package.json',
    { stripe: '23.1.0' },
    { asked: 'POST /v1/payment_intents Bearer sk_test amount=1099&currency=eur', event: 'ping' },
  ],
  ['resend', 'npm:', { resend: '6.38.0' }, { id: '/emails Bearer re_test b@example.org' }],
  [
    'sendgrid',
    'package.json',
    { '@sendgrid/mail': '8.1.6', '@sendgrid/client': '8.1.6' },
    { asked: '/v3/mail/send Bearer SG.test hello', statusCode: 200 },
  ],
  ['slack-web-api', 'npm:', { '@slack/web-api': '8.2.0' }, '/api/chat.postMessage Bearer xoxb-test sold'],
  ['octokit', 'package.json', { octokit: '5.0.5' }, '/repos/ada/shop token ghp_test'],
  [
    'twilio',
    'npm:',
    { twilio: '6.2.0' },
    {
      account: 'AC00000000000000000000000000000000',
      xml: '<?xml version="1.0" encoding="UTF-8"?><Response><Message>hi &amp; bye</Message></Response>',
      valid: true,
    },
  ],
  [
    'supabase',
    'package.json',
    { '@supabase/supabase-js': '2.119.0' },
    [{ asked: '/rest/v1/items?select=id%2Cname&id=eq.7 anon-key' }],
  ],
  ['firebase-admin', 'npm:', { 'firebase-admin': '14.5.1' }, { uid: 'ada', claims: { role: 'admin' } }],
  [
    'nodemailer',
    'package.json',
    { nodemailer: '10.6.0' },
    {
      envelope: { from: 'a@example.org', to: ['b@example.org'] },
      subject: '=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=',
      refused: 'ESOCKET',
    },
  ],
]);

const utilities = works('Utilities', [
  [
    'lodash',
    'package.json',
    { lodash: '4.18.1' },
    { chunks: [[1, 2], [3]], deep: 7, groups: { 3: ['one', 'two'], 5: ['three'] } },
  ],
  [
    'lodash-es',
    'npm:',
    { 'lodash-es': '4.18.1' },
    { camel: 'smallWebFunction', kebab: 'small-web', merged: { a: { b: 1, c: 2 } }, cancel: 'function' },
  ],
  ['ramda', 'package.json', { ramda: '0.32.0' }, { total: 3, path: 3 }],
  ['rxjs', 'npm:', { rxjs: '7.8.2' }, { sum: 12 }],
  ['axios', 'package.json', { axios: '1.21.1' }, { method: 'POST', path: '/items?a=b+c', body: { n: 1 } }],
  ['ky', 'npm:', { ky: '2.1.0' }, { path: '/items?a=1' }],
  ['got', 'package.json', { got: '16.1.0' }, { method: 'POST', body: '{"n":1}' }],
  ['undici', 'npm:', { undici: '8.12.4' }, { statusCode: 200, body: { path: '/items' } }],
  ['qs', 'package.json', { qs: '6.17.1' }, { parsed: { a: { b: '1' }, c: ['2', '3'] }, text: 'a[b][0]=1&a[b][1]=2' }],
  ['yaml', 'npm:', { yaml: '2.9.1' }, { parsed: { a: [1, 2], b: [1, 2] }, text: 'list:\n  - a\n  - b: true\n' }],
  [
    'csv-parse',
    'package.json',
    { 'csv-parse': '7.0.3' },
    [
      { name: 'Lovelace, Ada', n: 1 },
      { name: 'Bob', n: 2 },
    ],
  ],
  [
    'fast-xml-parser',
    'npm:',
    { 'fast-xml-parser': '5.12.1' },
    {
      parsed: {
        r: {
          i: [
            { '#text': 'a', '@_id': '1' },
            { '#text': 'b', '@_id': '2' },
          ],
        },
      },
      built: '<r><i>a</i><i>&lt;b&gt;</i></r>',
    },
  ],
  [
    'mime-types',
    'package.json',
    { 'mime-types': '3.0.2' },
    { type: 'text/html; charset=utf-8', extension: 'svg', unknown: false },
  ],
  ['p-limit', 'npm:', { 'p-limit': '7.3.3' }, { seen: [3, 2, 1], pending: 0 }],
  ['pino', 'package.json', { pino: '10.4.0' }, [{ level: 30, token: '[Redacted]', n: 1, msg: 'sold' }]],
  ['winston', 'npm:', { winston: '3.19.0' }, [{ left: 2, level: 'warn', message: 'low' }]],
  ['pdf-lib', 'npm:', { 'pdf-lib': '1.17.1' }, { magic: '%PDF-', pages: 1, width: 47.484 }],
  ['qrcode', 'package.json', { qrcode: '1.5.4' }, { size: 25, png: 'PNG', svg: true }],
  ['exceljs', 'npm:', { exceljs: '4.4.0' }, { names: ['Sales'], cell: 3 }],
  ['jszip', 'package.json', { jszip: '3.10.2' }, { files: ['folder/', 'folder/a.txt'], text: 'hello' }],
]);

const refused = (rows: [name: string, form: Form, version: string, reason: string, message: RegExp][]): Row[] =>
  rows.map(([name, form, version, reason, message]) => ({
    name,
    area: 'What cannot work',
    form,
    package: name,
    packages: { [name]: version },
    expected: { reason, message },
  }));

/** The rest of the message names the package and says what to do. */
const nativeAddOn = (name: string): RegExp =>
  new RegExp(
    `^matrix-${name}/${name}\\.ts:1:\\d+: .*The package ${name} is a native add-on, which cannot run here\\. Use a WebAssembly or JavaScript version of it\\.$`,
  );

const unsupported = refused([
  ['sharp', 'npm:', '0.35.5', 'ImportNotSupported', nativeAddOn('sharp')],
  ['bcrypt', 'package.json', '6.0.0', 'ImportNotSupported', nativeAddOn('bcrypt')],
  ['better-sqlite3', 'npm:', '13.2.0', 'ImportNotSupported', nativeAddOn('better-sqlite3')],
  ['canvas', 'package.json', '3.2.3', 'ImportNotSupported', nativeAddOn('canvas')],
  ['argon2', 'npm:', '0.45.1', 'ImportNotSupported', nativeAddOn('argon2')],
]);

/** The packages that authors of small web functions use most, as chosen in November 2026. */
export const MATRIX: readonly Row[] = [
  ...frameworks,
  ...validators,
  ...small,
  ...templates,
  ...security,
  ...databases,
  ...services,
  ...utilities,
  ...unsupported,
];
