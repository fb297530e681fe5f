/** What every program's `/readyz` says while it starts, where it has nothing more to say. */
export const STARTING = 'It is starting.';
/** What every program's `/readyz` says once it is stopping. */
export const STOPPING = 'It is stopping.';
