// Rules of our own: what passes a boundary does so in one place, and folders import only what is below them.

import path from 'node:path';

/** What shows texts in VS Code's own windows, where `[text](command:…)` is a link that runs a command. */
const SHOWS = new Set([
  'showInformationMessage',
  'showWarningMessage',
  'showErrorMessage',
  'setStatusBarMessage',
  'withProgress',
  'showQuickPick',
  'createQuickPick',
  'showInputBox',
  'createInputBox',
  'showSaveDialog',
  'showOpenDialog',
  'showWorkspaceFolderPick',
  'createStatusBarItem',
  'createTreeView',
  'registerTreeDataProvider',
]);

/** What writes a file around the server's one function, which loses nothing. */
const WRITES = /^(writeFile|appendFile|rename|copyFile|cp|rm|unlink|createWriteStream)(Sync)?$/;
const WRITES_BY_VSCODE = new Set(['writeFile', 'rename', 'copy', 'delete']);

/** What every view is made of, from the bottom up. */
const SHARED = ['base', 'canvas', 'widgets', 'shell'];
const PANES = [...SHARED, 'flame', 'live-set', 'sql', 'compare'];
const below = (folder, all) => all.slice(0, all.indexOf(folder));

/** What each folder of the webview may import, besides itself and the types of api.ts: nothing that is above or beside it. */
const MAY_IMPORT = {
  ...Object.fromEntries(SHARED.map((folder) => [folder, below(folder, SHARED)])),
  flame: SHARED,
  'live-set': SHARED,
  sql: SHARED,
  compare: [...SHARED, 'flame'],
  timeline: PANES,
  profile: PANES,
  graph: PANES,
  fleet: SHARED,
};

/** The folder of the webview that a file is in, or null. */
const folderOf = (file) => /\/webview\/src\/([^/]+)\//.exec(file.replaceAll('\\', '/'))?.[1] ?? null;

const walls = {
  meta: { type: 'problem' },
  create: (context) => {
    const own = folderOf(context.filename);
    if (own === null) return {};
    const look = ({ source }) => {
      const { value } = source ?? {};
      if (typeof value !== 'string' || !value.startsWith('.')) return;
      const target = path.resolve(path.dirname(context.filename), value);
      const folder = folderOf(target);
      const isInside = /[/\\]webview[/\\]src[/\\]/.test(target);
      if (!isInside || folder === own || path.basename(target) === 'api') return;
      if (folder === null || !MAY_IMPORT[own]?.includes(folder))
        context.report({ node: source, message: `webview/src/${own} may not import ${folder ?? value}.` });
    };
    return {
      ImportDeclaration: look,
      ExportNamedDeclaration: look,
      ExportAllDeclaration: look,
      ImportExpression: look,
      TSImportType: look,
    };
  },
};

const nameOf = (node) => (node?.type === 'Identifier' ? node.name : node?.value);

/** A rule that looks at nodes of some kinds and says what is wrong with one, or nothing. */
const rule = (message, visitors) => ({
  meta: { type: 'problem' },
  create: (context) =>
    Object.fromEntries(
      Object.entries(visitors).map(([kind, isWrong]) => [
        kind,
        (node) => {
          if (isWrong(node)) context.report({ node, message });
        },
      ]),
    ),
});

export default {
  meta: { name: 'memlens' },
  rules: {
    walls,
    'texts-by-window': rule(
      'Names come from files of strangers: show them by base/window.ts, which makes them plain.',
      {
        MemberExpression: ({ object, property }) =>
          object.type === 'MemberExpression' &&
          nameOf(object.object) === 'vscode' &&
          nameOf(object.property) === 'window' &&
          SHOWS.has(nameOf(property)),
      },
    ),
    'no-alias-of-window': rule('Use vscode.window, so that the rule about texts sees it.', {
      ImportSpecifier: ({ imported }) => nameOf(imported) === 'window',
      VariableDeclarator: ({ init }) =>
        nameOf(init) === 'vscode' ||
        (init?.type === 'MemberExpression' &&
          nameOf(init.object) === 'vscode' &&
          nameOf(init.property) === 'window'),
    }),
    'writes-by-save': rule(
      "Write what people keep by 'memlens/save' (commands/save.ts), which overwrites no snapshot.",
      {
        MemberExpression: ({ object, property }) =>
          object.type === 'MemberExpression' &&
          nameOf(object.property) === 'fs' &&
          WRITES_BY_VSCODE.has(nameOf(property)),
        ImportSpecifier: ({ imported }) => WRITES.test(nameOf(imported)),
      },
    ),
  },
};
