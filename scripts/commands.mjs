// The commands of a view are declared once, as rows of a `commands.ts` (shell/command.ts) and as `palette` of a pane; this
// writes their names, their rows in package.json, by which key bindings act where the active view has them and the palette
// hides them behind its lists, and their titles. `--check` only says whether they are current.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './lib/paths.mjs';
import { UserError, main } from './lib/steps.mjs';
import { forEachChild, lineOf, literal, parse } from './lib/syntax.mjs';

const WEBVIEW = 'webview/src';
const LISTED = '// Written by `npm run contract`: what files declare, in the order of its places.\n';
const MODELS = { timeline: 'TimelineSession', profile: 'ProfileSession', graph: 'GraphSession' };
const NAMES = 'extension/shared/commands.gen.ts';
const GENERATED =
  '// Written by `npm run contract`: the commands of views by the list that offers each, and what has only a key.\n';

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

/** What files of the webview declare: commands with their titles and lists, and what has only a key. */
function declared() {
  const commands = new Map();
  const keys = new Set();
  for (const file of readdirSync(path.join(ROOT, WEBVIEW), { recursive: true }).sort()) {
    if (!/\.tsx?$/.test(file)) continue;
    const source = readFileSync(path.join(ROOT, WEBVIEW, file), 'utf8');
    const hasRows = source.includes('CommandOf');
    if (!hasRows && !source.includes('palette:')) continue;
    const visit = (node) => {
      const text = (key) => literal(node.properties?.find((each) => each.key?.name === key)?.value);
      const [title, id, action, picture] = ['palette', 'id', 'action', 'picture'].map(text);
      const name = id !== undefined ? `pane.${id}` : picture !== undefined ? `picture.${picture}` : action;
      const fail = (what) => {
        throw new UserError(`${file}:${lineOf(source, node.start)}: ${what}`);
      };
      if (title !== undefined) {
        if (name === undefined)
          fail(`“${title}” belongs to no pane, picture or command: give it an id, a picture or an action`);
        const list = id === undefined ? (text('list') ?? listOf(name)) : 'show';
        const { title: other = title } = commands.get(name) ?? {};
        if (other !== title) fail(`${name} is called “${other}” elsewhere`);
        commands.set(name, { title, list });
      } else if (hasRows && action !== undefined) keys.add(action);
      forEachChild(node, visit);
    };
    visit(parse(file, source));
  }
  return { commands, keys: [...keys].filter((name) => !commands.has(name)) };
}

/** The panes of each model, in the order of their places, as the file that lists them. */
/** The files that list the panes of each model and the pictures of a trace, in the order of their places. */
function lists() {
  const declared = [];
  for (const file of readdirSync(path.join(ROOT, WEBVIEW), { recursive: true }).sort()) {
    const source = /\.tsx?$/.test(file) ? readFileSync(path.join(ROOT, WEBVIEW, file), 'utf8') : '';
    if (!/\b(Pane|Picture)Of\b/.test(source)) continue;
    const visit = (node) => {
      const { properties = [] } = node.init?.expression ?? node.init ?? {};
      const value = (key) => properties.find((each) => each.key?.name === key)?.value;
      const [models, place] = [value('of')?.elements.map(literal), value('place')?.value];
      if (place !== undefined)
        declared.push({ file, name: node.id.name, place, models: models ?? ['picture'] });
      forEachChild(node, visit);
    };
    visit(parse(file, source));
  }
  const list = (of, folder, [name, type], imports) => {
    const own = declared.filter(({ models }) => models.includes(of)).sort((a, b) => a.place - b.place);
    const all = [...imports, ...own.map(({ file, name: each }) => [each, file.replaceAll(path.sep, '/')])];
    const lines = all.map(([what, file]) => {
      const from = path.posix.relative(folder, file).replace(/\.tsx?$/, '');
      return `import { ${what} } from '${from.startsWith('.') ? from : `./${from}`}';\n`;
    });
    const rows = own.map((each) => `  ${each.name},\n`).join('');
    const text = `${LISTED}${lines.join('')}\nexport const ${name}: readonly ${type}[] = [\n${rows}];\n`;
    return [`${WEBVIEW}/${folder}/${name.toLowerCase()}.gen.ts`, text];
  };
  return [
    ...Object.entries(MODELS).map(([model, session]) =>
      list(
        model,
        model,
        ['PANES', `PaneOf<${session}>`],
        [
          ['type PaneOf', 'shell/pane'],
          [`type ${session}`, `${model}/session`],
        ],
      ),
    ),
    list('picture', 'timeline', ['PICTURES', 'PictureOf'], [['type PictureOf', 'timeline/pictures/picture']]),
  ];
}

/** The list of what names none. */
const listOf = (name) => ({ group: 'groupBy', picture: 'show' })[name.split('.')[0]] ?? 'navigate';

/** Names in the order that they had; a new one follows that which is declared before it. */
function inOrder(names, before) {
  const ordered = before.filter((name) => names.includes(name));
  names.forEach((name, index) => {
    if (!ordered.includes(name)) ordered.splice(ordered.indexOf(names[index - 1]) + 1, 0, name);
  });
  return ordered;
}

main(async () => {
  const { commands: rows, keys } = declared();
  const before = existsSync(path.join(ROOT, NAMES)) ? readFileSync(path.join(ROOT, NAMES), 'utf8') : '';
  const names = inOrder(
    [...rows.keys()],
    [...before.matchAll(/^ {2}'?([\w.]+)'?: '/gm)].map(([, name]) => name),
  );
  const titles = Object.fromEntries(names.map((name) => [name, rows.get(name).title]));
  const lines = (each) => each.map((line) => `  ${line},\n`).join('');
  const written = [
    `${GENERATED}export const COMMANDS = {\n`,
    `${lines(names.map((name) => `'${name}': '${rows.get(name).list}'`))}} as const;\n\n`,
    `export const KEY_ACTIONS = [\n${lines(keys.sort().map((name) => `'${name}'`))}] as const;\n`,
  ];
  const current = [
    writeIfOther(NAMES, () => written.join('')),
    ...lists().map(([file, text]) => writeIfOther(file, () => text)),
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
