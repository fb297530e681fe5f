import { routes, type Route } from '../http/endpoint.ts';
import { eventEndpoints } from './event-endpoints.ts';
import type { ResourceEvents } from './resource-events.ts';

export function eventRoutes(events: ResourceEvents): Route[] {
  return routes(eventEndpoints, {
    stream: async ({ request }) => {
      const last = request.headersDistinct['last-event-id']?.join();
      return { events: (stream) => void events.follow(stream, last === '' ? undefined : last) };
    },
  });
}
