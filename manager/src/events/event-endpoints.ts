import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { resetEventSchema, resourceEventSchema } from './event-schemas.ts';
import { MANAGER_LIMITS } from '../limits.ts';

export const eventEndpoints = {
  stream: endpoint({
    tag: 'Events',
    permission: 'read',
    operationId: 'streamEvents',
    method: 'get',
    path: '/api/events',
    summary: 'Follow every change of functions, sources, key groups, keys, secrets and settings',
    status: 200,
    reply: {
      events: {
        data: z.union([resourceEventSchema, resetEventSchema]),
        description:
          'Server-sent events. event: resource says what changed; event: reset, with the data {}, comes first where ' +
          'the events after Last-Event-ID are no longer available: list everything again',
        limit: MANAGER_LIMITS.eventStreams,
      },
    },
    errors: [],
  }),
};
