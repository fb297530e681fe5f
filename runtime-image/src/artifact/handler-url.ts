/** Where the artifact seems to lie: `__dirname` of a handler is `/app`, and its sources are `/app/<source>/<path>`. */
export const HANDLER_URL = 'file:///app/handler.mjs';
