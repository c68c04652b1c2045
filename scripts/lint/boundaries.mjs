// Rules of our own for the extension: what passes a boundary does so in one place.

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
      VariableDeclarator: ({ init }) => nameOf(init) === 'vscode',
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
