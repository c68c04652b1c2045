// Writes the file that translators start from: l10n/bundle.l10n.json with every text of extension/src, webview/src and
// the server's sentences; and the pseudo-language of the tests. `--check` compares the file with the sources instead, and
// checks that package.json uses exactly the texts of package.nls.json, and that all texts of the page can be translated.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, VENV_PYTHON } from './lib/paths.mjs';
import { UserError, filesUnder, main, run } from './lib/steps.mjs';
import { forEachChild, lineOf, literal, parse } from './lib/syntax.mjs';
import { writePseudoLanguage } from './lib/pseudo.mjs';
import { untranslated } from './lib/untranslated.mjs';

const BUNDLE = 'l10n/bundle.l10n.json';
const TEXTS = 'package.nls.json';
const MANIFEST = 'package.json';

/** The keys of package.json whose texts people read. */
const READ_KEYS = new Set([
  'title',
  'description',
  'markdownDescription',
  'displayName',
  'userDescription',
  'altText',
]);
const READ_LISTS = new Set(['enumItemLabels', 'enumDescriptions']);
/** What language models read, in English. */
const OF_MODELS = new Set(['inputSchema']);
/** Names that are the same in every language. */
const NAMES = new Set(['Memlens']);

/**
 * Every text that `vscode.l10n.t`, the page's `t` or its `plural` is called with in a file; one that isn't a literal
 * can't be translated.
 */
function messagesOf(file, source) {
  const found = [];
  const visit = (node) => {
    const called = node.type === 'CallExpression' ? source.slice(node.callee.start, node.callee.end) : '';
    const texts = /^((vscode\.)?l10n\.)?t$/.test(called) ? [0] : called === 'plural' ? [1, 2] : [];
    for (const index of texts) {
      const message = literal(node.arguments[index]);
      if (message === undefined) {
        const line = lineOf(source, node.start);
        throw new UserError(`${file}:${line}: ${called} needs a text as its argument ${index + 1}.`);
      }
      found.push(message);
    }
    forEachChild(node, visit);
  };
  visit(parse(file, source));
  return found;
}

/** Every template of the server's sentences: `phrase` and `plural` of memlens/texts.py. */
async function templates() {
  const { code, output } = await run([VENV_PYTHON, 'scripts/lib/templates.py']);
  if (code !== 0) throw new UserError(output.trim());
  return JSON.parse(output);
}

/** The differences between package.json and its texts. */
function manifestProblems(manifest, texts) {
  const problems = [];
  const named = new Set();
  const check = (text, where) => {
    const key = /^%(.+)%$/.exec(text)?.[1];
    if (key === undefined) {
      if (!NAMES.has(text))
        problems.push(`${MANIFEST}: ${where} is a text and not a key of ${TEXTS}: ${text}`);
      return;
    }
    named.add(key);
    if (!(key in texts)) problems.push(`${TEXTS} has no ${key}, which ${where} of ${MANIFEST} names.`);
  };
  const visit = (value, where) => {
    for (const [key, each] of Object.entries(value ?? {})) {
      if (OF_MODELS.has(key)) continue;
      const here = where === '' ? key : `${where}.${key}`;
      if (typeof each === 'string') {
        if (READ_KEYS.has(key) || /^%.*%$/.test(each)) check(each, here);
      } else if (READ_LISTS.has(key)) for (const text of each) check(text, here);
      else if (typeof each === 'object') visit(each, here);
    }
  };
  visit(manifest, '');
  for (const key of Object.keys(texts))
    if (!named.has(key)) problems.push(`${TEXTS} has ${key}, which ${MANIFEST} doesn't name.`);
  return problems;
}

const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');

/** The text of the bundle. */
async function bundleText() {
  const messages = ['extension/src', 'webview/src'].flatMap((folder) =>
    filesUnder(folder, ['.ts', '.tsx']).flatMap((file) => messagesOf(file, read(file))),
  );
  messages.push(...(await templates()));
  const bundle = Object.fromEntries([...new Set(messages)].sort().map((message) => [message, message]));
  return `${JSON.stringify(bundle, null, 2)}\n`;
}

main(async () => {
  const problems = manifestProblems(JSON.parse(read(MANIFEST)), JSON.parse(read(TEXTS)));
  const checking = process.argv.includes('--check');
  const [target, content] = [path.join(ROOT, BUNDLE), await bundleText()];
  if (!checking) {
    writeFileSync(target, content);
    writePseudoLanguage();
  } else if (!existsSync(target) || read(BUNDLE) !== content) {
    problems.push(`${BUNDLE} is not current: run npm run l10n.`);
  }
  if (checking)
    for (const text of filesUnder('webview/src', ['.ts', '.tsx']).flatMap((file) =>
      untranslated(file, read(file)),
    ))
      problems.push(`${text} can't be translated: it doesn't come through t or plural.`);
  if (problems.length > 0) throw new UserError(problems.join('\n'));
});
