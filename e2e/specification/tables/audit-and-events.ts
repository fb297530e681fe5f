import { each, type Table } from '../row.ts';
import { TIME } from '../patterns.ts';

/** Whose events have other ids. */
const ANOTHER = 'another manager may answer there';

export const auditAndEvents: Table = {
  title: 'Audit and events',
  inCluster: true,
  rows: [
    {
      says: 'POST /api/key-groups: a change',
      sends: ['POST', '/api/key-groups', { name: 'of-the-audit-table' }],
      answers: 201,
      keeps: { group: 'id', request: '@x-request-id' },
    },
    {
      says: 'PUT /api/key-groups/:groupId: another change',
      sends: ['PUT', '/api/key-groups/<group>', { description: 'of no value to anybody' }],
      answers: 200,
    },
    {
      says: 'Record: {id, timestamp, actor, action, object, result, requestId, clientAddress}',
      sends: ['GET', '/api/audit?objectId=<group>&action=key-group.create'],
      answers: 200,
      whole: {
        data: {
          records: [
            {
              ...{ id: expect.any(String), timestamp: TIME, action: 'key-group.create', result: 'ok' },
              actor: { type: 'key', id: expect.any(String), name: expect.any(String) },
              object: { kind: 'KeyGroup', id: '<group>', name: 'of-the-audit-table' },
              ...{ requestId: '<request>', clientAddress: expect.any(String) },
            },
          ],
          pagination: { limit: 50, hasMore: false },
        },
      },
      keeps: { actor: 'data.records.0.actor.id', time: 'data.records.0.timestamp' },
      soon: true,
    },
    {
      says: 'newest first; records contain no values',
      sends: ['GET', '/api/audit?objectId=<group>&actor=<actor>&since=<time>'],
      answers: 200,
      body: { data: { records: [{ action: 'key-group.update' }, { action: 'key-group.create' }] } },
      hides: ['of no value'],
      soon: true,
    },
    {
      says: 'limit, with the pagination of logs',
      sends: ['GET', '/api/audit?objectId=<group>&limit=1'],
      answers: 200,
      body: {
        data: {
          records: [{ action: 'key-group.update' }],
          pagination: { limit: 1, hasMore: true, next: expect.stringMatching(/^\/api\/audit\?.*cursor=/) },
        },
      },
      keeps: { next: 'data.pagination.next' },
    },
    {
      says: 'cursor: the next page',
      sends: ['GET', '<next>'],
      answers: 200,
      body: { data: { records: [{ action: 'key-group.create' }], pagination: { hasMore: false } } },
    },
    {
      says: 'until',
      sends: ['GET', '/api/audit?objectId=<group>&until=<time>'],
      answers: 200,
      body: { data: { records: [] } },
    },
    {
      says: 'GET /api/audit/export → NDJSON',
      sends: ['GET', '/api/audit/export?objectId=<group>'],
      answers: 200,
      with: { 'content-type': expect.stringContaining('application/x-ndjson') },
      text: /^\{.*"key-group\.update".*\}\n\{.*"key-group\.create".*\}\n$/,
    },
    {
      says: 'result: denied',
      sends: ['DELETE', '/api/key-groups/management'],
      answers: 403,
      code: 'forbidden',
    },
    {
      says: 'result: "ok"|"denied"|"failed"',
      sends: ['GET', '/api/audit?objectId=management&action=key-group.delete&limit=1'],
      answers: 200,
      body: { data: { records: [{ result: 'denied' }] } },
      soon: true,
    },
    ...each(['limit=0', 'limit=1001', 'cursor=x', 'since=x', 'until=x', 'actor=', 'colour=red'], (query) => ({
      says: `400: a field that fails validation: ${query}`,
      sends: ['GET', `/api/audit?${query}`],
      answers: 400,
      code: 'validation_failed',
    })),
    {
      says: 'GET /api/events → server-sent events; if the state of Last-Event-ID is no longer available, the first event is reset',
      sends: ['GET', '/api/events'],
      headers: { 'last-event-id': 'of-another-time' },
      answers: 200,
      with: { 'content-type': expect.stringContaining('text/event-stream') },
      text: /^event: reset$/m,
      readsUntil: 'data: {}\n',
    },
    {
      says: 'The event’s id: where a stream begins',
      sends: ['GET', '/api/events'],
      answers: 200,
      readsUntil: '\n\n',
      keeps: { position: /^id: (.+)$/m },
      oneMachine: ANOTHER,
    },
    { says: 'DELETE /api/key-groups/:groupId', sends: ['DELETE', '/api/key-groups/<group>'], answers: 200 },
    {
      says: 'The event’s id resumes the stream through Last-Event-ID; event: resource with data {type, kind, id, object}',
      sends: ['GET', '/api/events'],
      headers: { 'last-event-id': '<position>' },
      answers: 200,
      text: /^event: resource\n(?:id: .+\n)?data: \{"type":"deleted","kind":"KeyGroup","id":"[-a-z0-9]+","object":null\}$/m,
      readsUntil: '"object":null}\n',
      oneMachine: ANOTHER,
    },
  ],
};
