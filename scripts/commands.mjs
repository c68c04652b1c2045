// The commands of a view are declared once, as rows of extension/shared/commands.ts and as `palette` of a pane; this writes
// their rows in package.json, by which key bindings act where the active view has them and the palette hides them behind its
// lists, and their titles. `--check` only says whether they are current.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { ROOT } from './lib/paths.mjs';
import { UserError, main } from './lib/steps.mjs';
import { forEachChild, lineOf, literal, parse } from './lib/syntax.mjs';

const WEBVIEW = 'webview/src';
const NAMES = 'extension/shared/commands.gen.ts';
const GENERATED = '// Written by `npm run contract`: the names of the commands of views.\n';

/** The row of a view's command. */
const rowOf = (name) => ({
  command: `memlens.${name}`,
  title: `%command.${name}%`,
  category: 'Memlens',
  enablement: `activeCustomEditorId =~ /^memlens\\.snapshot/ && memlens.commands =~ /\\s${name.replace('.', '\\.')}\\s/`,
});

/** The rows of all commands: a new one of a view follows that which is declared before it, and may get another condition. */
function withRows(rows, names) {
  const written = rows.filter(({ command, enablement }) => {
    const name = command.slice('memlens.'.length);
    return enablement !== rowOf(name).enablement || names.includes(name);
  });
  names.forEach((name, index) => {
    const row = rowOf(name);
    const place = written.findIndex(({ command }) => command === row.command);
    const before = written.findIndex(({ command }) => command === `memlens.${names[index - 1]}`);
    if (place >= 0) written[place] = { ...row, ...written[place] };
    else written.splice(before < 0 ? written.length : before + 1, 0, row);
  });
  return written;
}

/** The palette's conditions of these commands: it has no command of a view, since its lists have them. */
function withHidden(rows, names, commands) {
  const hidden = names.map((name) => ({ command: `memlens.${name}`, when: 'false' }));
  const isOther = ({ command }) =>
    !hidden.some((row) => row.command === command) && commands.some((row) => row.command === command);
  return [...rows.filter(isOther), ...hidden];
}

/** The palette's titles of panes, which the files that declare them have. */
function titlesOfPanes() {
  const found = [];
  for (const file of readdirSync(path.join(ROOT, WEBVIEW), { recursive: true })) {
    if (!/\.tsx?$/.test(file)) continue;
    const source = readFileSync(path.join(ROOT, WEBVIEW, file), 'utf8');
    if (!source.includes('palette:')) continue;
    const visit = (node) => {
      const text = (key) => literal(node.properties?.find((each) => each.key?.name === key)?.value);
      const title = node.type === 'ObjectExpression' ? text('palette') : undefined;
      if (title !== undefined && text('id') === undefined)
        throw new UserError(
          `${file}:${lineOf(source, node.start)}: “${title}” belongs to no pane: give it an id`,
        );
      if (title !== undefined) found.push([`pane.${text('id')}`, title]);
      forEachChild(node, visit);
    };
    visit(parse(file, source));
  }
  return Object.fromEntries(found.sort());
}

main(async () => {
  const { outputFiles } = await build({
    ...{ entryPoints: [path.join(ROOT, 'extension/shared/commands.ts')], bundle: true },
    ...{ format: 'esm', write: false },
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  const { LISTS } = await import(`data:text/javascript;base64,${code}`);
  const titles = Object.assign({}, ...Object.values(LISTS), titlesOfPanes());
  const names = Object.keys(titles);
  const rows = names.map((name) => `  '${name}',\n`).join('');
  const current = [
    writeIfOther(NAMES, () => `${GENERATED}export const VIEW_COMMANDS = [\n${rows}] as const;\n`),
  ];
  let commands = [];
  // as text: a number of the tools' schemas is larger than those that are exact here
  current.push(
    writeIfOther('package.json', (text) =>
      text
        .replace(/(?<=\n {4}"commands": )\[\n[\s\S]*?\n {4}\](?=,\n)/, (rows) => {
          commands = withRows(JSON.parse(rows), names);
          return JSON.stringify(commands, null, 2).replaceAll('\n', '\n    ');
        })
        .replace(/(?<=\n {6}"commandPalette": )\[\n[\s\S]*?\n {6}\](?=,?\n)/, (rows) =>
          JSON.stringify(withHidden(JSON.parse(rows), names, commands), null, 2).replaceAll('\n', '\n      '),
        ),
    ),
    writeIfOther(
      'package.nls.json',
      (text) => `${JSON.stringify(withTitles(JSON.parse(text), titles), null, 2)}\n`,
    ),
  );
  if (!current.every(Boolean)) throw new UserError('The view’s commands are others: run `npm run contract`');
});

/** The titles of all commands: a new one follows that which is declared before it. */
function withTitles(texts, commands) {
  const names = Object.keys(commands).map((name) => `command.${name}`);
  const rows = Object.entries(texts);
  names.forEach((name, index) => {
    const title = commands[name.slice('command.'.length)];
    const place = rows.findIndex(([key]) => key === name);
    if (place >= 0) rows[place] = [name, title];
    else
      rows.splice(rows.findIndex(([key]) => key === names[index - 1]) + 1 || rows.length, 0, [name, title]);
  });
  const gone = (name) => /^command\.(pane|picture|group)\./.test(name) && !names.includes(name);
  return Object.fromEntries(rows.filter(([name]) => !gone(name)));
}

/** Whether a file has what it should; it is written unless that is only asked. */
function writeIfOther(file, make) {
  const place = path.join(ROOT, file);
  const before = existsSync(place) ? readFileSync(place, 'utf8') : '';
  const text = make(before);
  if (text === before) return true;
  if (process.argv.includes('--check')) return false;
  writeFileSync(place, text);
  return true;
}
