// Text from a snapshot is any text: very long, with control characters, or written to reorder its surroundings.

/** Controls, formats (bidirectional overrides, zero-width characters), half characters, line separators, letters without ink. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;
/** Marks above or below a letter, more than any language has: they would be drawn over the lines around. */
const STACKED = /(\p{M}{4})\p{M}+/gu;
/** A mark without a letter would be put on what stands before the name. */
const WITHOUT_LETTER = /^(?=\p{M})/u;

/** The text with what can't be seen made visible: a control picture, or its code point. */
export function visible(text: string): string {
  const marked = text.replace(STACKED, '$1\ufffd').replace(WITHOUT_LETTER, '\u25cc');
  return marked.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    if (code >= 0xd800 && code < 0xe000) return '\ufffd';
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

/** At most `most` characters, the middle left out: names differ most at their ends. */
export function shorten(text: string, most: number): string {
  // A name of megabytes is cut before anything looks at each of its characters.
  const bounded = text.length > 4 * most ? text.slice(0, 2 * most) + text.slice(-2 * most) : text;
  const letters = Array.from(visible(bounded));
  if (letters.length <= most) return letters.join('');
  const head = Math.ceil((most - 1) / 2);
  return `${letters.slice(0, head).join('')}…${letters.slice(letters.length - (most - 1 - head)).join('')}`;
}

const LONGEST_MESSAGE = 2000;

/** What went wrong, as a text to show. */
export function messageOf(error: unknown): string {
  return shorten(error instanceof Error ? error.message : String(error), LONGEST_MESSAGE);
}

/** A text as the value of a filter's term: exactly it. */
export function exactly(value: string): string {
  return quotedTerm('', `=${value}`, true);
}

/** A term of a filter, its value in quotes where it has blanks, commas or quotes, or `always`. */
export function quotedTerm(field: string, value: string, always = false): string {
  return always || /[\s",]/.test(value) ? `${field}"${value.replace(/["\\]/g, '\\$&')}"` : field + value;
}
