/** Characters that make a name or a path show as another one, and the sentence's end that says so. */
const DECEPTIVE: readonly (readonly [pattern: RegExp, problem: string])[] = [
  // C0, DEL and C1: terminals obey them.
  [/\p{Cc}/u, 'must not contain control characters'],
  [/\p{Bidi_Control}/u, 'must not contain characters that change the direction of text'],
];

/**
 * Checks a text of one line that people go by.
 * @returns what is wrong, undefined when nothing is.
 */
export function deceptiveCharacters(text: string): string | undefined {
  return DECEPTIVE.find(([pattern]) => pattern.test(text))?.[1];
}
