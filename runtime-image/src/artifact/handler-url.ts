/**
 * The apparent path of the artifact: `__dirname` of a handler is `/app`, and its sources are `/app/<source>/<path>`.
 */
export const HANDLER_URL = 'file:///app/handler.mjs';
