// Text from a snapshot is any text: very long, with control characters, or written to reorder its surroundings.

/** Controls, bidirectional overrides and isolates, and other characters without a shape of their own. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with what can't be seen made visible: a control picture, or its code point. */
export function visible(text: string): string {
  return text.replace(LONE_SURROGATE, '\ufffd').replace(UNSEEN, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

/** At most `most` characters, the middle left out: names tell most at their ends. */
export function shorten(text: string, most: number): string {
  const clean = visible(text.length > 4 * most ? text.slice(0, 2 * most) + text.slice(-2 * most) : text);
  const letters = Array.from(clean);
  if (letters.length <= most) return clean;
  const head = Math.ceil((most - 1) / 2);
  return `${letters.slice(0, head).join('')}…${letters.slice(letters.length - (most - 1 - head)).join('')}`;
}
