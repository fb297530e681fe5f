/** What every program's `/readyz` says while it starts, unless it can be more specific. */
export const STARTING = 'The program is starting.';
/** What every program's `/readyz` says once it is stopping. */
export const STOPPING = 'The program is stopping.';
