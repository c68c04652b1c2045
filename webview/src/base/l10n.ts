// The texts of the page in the language of the editor. The English text is its own key; `npm run l10n` collects them.

import type { Text } from '../../../extension/shared/protocol.gen';

type Texts = Readonly<Record<string, unknown>>;

/** What the extension wrote into the page: a text for each English one, nothing in English. */
function textsOfPage(): Texts {
  const written =
    typeof document === 'undefined' ? undefined : document.getElementById('memlens')?.dataset['texts'];
  // SAFETY: the extension writes VS Code's bundle there, which is an object.
  return written === undefined ? {} : (JSON.parse(written) as Texts);
}

let texts = textsOfPage();

/** Sets the translations by their English texts; tests do. */
export function learnTexts(known: Texts): void {
  texts = known;
}

function translated(text: string): string {
  const known = texts[text];
  return typeof known === 'string' ? known : text;
}

function textOf(text: string, values: readonly (string | number)[]): string {
  return translated(text).replace(/\{(\d+)\}/g, (whole, index: string) =>
    String(values[Number(index)] ?? whole),
  );
}

/** A text in the user's language, with `{0}`, `{1}`, … replaced by what follows it. The text is a literal. */
export function t(text: string, ...values: readonly (string | number)[]): string {
  return textOf(text, values);
}

// Made once: making one for each number takes longer than all else in a frame.
const GROUPED = new Intl.NumberFormat('en-US');

/** "1,288,490". */
export function count(value: number): string {
  return GROUPED.format(value);
}

/**
 * A text with a number, `one` where it is 1, else `many`: both are literals as for `t`. `{0}` is the number, `{1}`,
 * `{2}`, … are the values: `plural(n, '{0} stack of {1}', '{0} stacks of {1}', name)`.
 */
export function plural(
  number: number,
  one: string,
  many: string,
  ...values: readonly (string | number)[]
): string {
  return textOf(number === 1 ? one : many, [count(number), ...values]);
}

/** A sentence of the server's in the user's language. One without a template is the same in every language. */
export function said({ text, template, values }: Text): string {
  return template === '' ? text : pieces(template, values, said).join('');
}

/** How the server quotes the text of a string. */
const QUOTED = '“{text}” {n} times';

/** The same for what leaves the page: without the texts of strings that it quotes. */
export function saidWithoutContents({ text, template, values }: Text): string {
  if (template === '') return text;
  const hidden: Text = { text: '…', template: '', values: {} };
  const kept = template === QUOTED ? { ...values, text: hidden } : values;
  return pieces(template, kept, saidWithoutContents).join('');
}

/** What a template is made of in the order of the user's language: words, and what `of` makes of each value. */
export function pieces<T, R>(
  template: string,
  values: Readonly<Record<string, T>>,
  of: (value: T) => R,
): readonly (string | R)[] {
  return translated(template)
    .split(/\{(\w+)\}/)
    .map((piece, index) => {
      if (index % 2 === 0) return piece;
      const value = values[piece];
      return value === undefined ? `{${piece}}` : of(value);
    });
}

/** A name that the server gives, such as a finding's title, in the user's language. */
export function named(text: string): string {
  return translated(text);
}
