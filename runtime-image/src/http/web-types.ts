/** The web's own names for what Node's types leave unnamed. */
export type BodyInit = NonNullable<ConstructorParameters<typeof Response>[0]>;
export type HeadersInit = NonNullable<ResponseInit['headers']>;
export type RequestInfo = ConstructorParameters<typeof Request>[0];
