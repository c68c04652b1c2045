// The texts of the page in the language of the editor. The English text is its own key; `npm run l10n` collects them.

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

/** A text in the user's language, with `{0}`, `{1}`, … replaced by what follows it. The text is a literal. */
export function t(text: string, ...values: readonly (string | number)[]): string {
  const known = texts[text];
  return (typeof known === 'string' ? known : text).replace(/\{(\d+)\}/g, (whole, index: string) =>
    String(values[Number(index)] ?? whole),
  );
}
