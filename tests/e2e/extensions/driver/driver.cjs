// Does in a window's extension host what the tests need around their steps: opens files, writes settings, and makes the
// window ready for the next file of tests. It also stands in for other extensions: for a chat whose language model calls
// tools, and for that of a language. tests/e2e/driver.mjs asks it, by a socket for each workspace.
'use strict';
const { createHash } = require('node:crypto');
const { readFileSync, rmSync } = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const vscode = require('vscode');
const { provideSymbols } = require('./symbols.cjs');

/** Whatever a test may have left open beside its editors. */
const CLOSING = [
  'workbench.action.closeQuickOpen',
  'workbench.action.closePanel',
  'workbench.action.closeAuxiliaryBar',
  'notifications.hideList',
  'notifications.clearAll',
  'workbench.files.action.collapseExplorerFolders',
  'workbench.view.explorer',
  'memlens.forgetPaths',
];

/** The keys in the settings of the workspace. */
function settingsOf(folder) {
  try {
    return Object.keys(JSON.parse(readFileSync(path.join(folder, '.vscode', 'settings.json'), 'utf8')));
  } catch {
    return []; // none yet
  }
}

/** Adds settings to the workspace's, through VS Code, which thus knows them at once; null removes one. */
async function configure(settings) {
  for (const [key, value] of Object.entries(settings)) {
    const all = vscode.workspace.getConfiguration();
    const wanted = value ?? undefined;
    if (isDeepStrictEqual(all.inspect(key)?.workspaceValue, wanted)) continue;
    await all.update(key, wanted, vscode.ConfigurationTarget.Workspace);
  }
}

async function revertAll() {
  for (const document of vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty)) {
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  }
  for (const document of vscode.workspace.notebookDocuments.filter(({ isDirty }) => isDirty)) {
    await vscode.window.showNotebookDocument(document);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  }
}

exports.activate = (context) => {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const sockets = process.env.MEMLENS_TESTS_SOCKETS;
  if (folder === undefined || !sockets) return;

  let cancellation = new vscode.CancellationTokenSource();
  const acts = {
    pid: () => process.pid,
    configure,
    /** Closes everything, without a question, and shows what a new window shows. */
    leave: async () => {
      await revertAll();
      for (const terminal of vscode.window.terminals) terminal.dispose();
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      for (const command of CLOSING) await vscode.commands.executeCommand(command);
    },
    /** Leaves the workspace only these settings. */
    configureAfresh: (settings) =>
      configure({ ...Object.fromEntries(settingsOf(folder).map((key) => [key, null])), ...settings }),
    /**
     * Opens a file as the explorer does, and in Memlens one that VS Code has an editor for as well; without waiting, since
     * an editor may take any time.
     */
    open: (file) => {
      const uri = vscode.Uri.file(file);
      const opened = /\.heap(snapshot|profile)$/.test(file)
        ? vscode.commands.executeCommand('vscode.openWith', uri, 'memlens.snapshot', { preview: false })
        : vscode.commands.executeCommand('vscode.open', uri, { preview: false });
      opened.then(undefined, (error) => vscode.window.showErrorMessage(`${file}: ${error}`));
    },
    /** Runs a command of VS Code's own. */
    execute: async (command) => {
      await vscode.commands.executeCommand(command);
    },
    /** The tools that a chat may call. */
    tools: () =>
      vscode.lm.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    /** What a chat's model is told of a tool that it calls. */
    callTool: async (name, input) => {
      cancellation = new vscode.CancellationTokenSource();
      const { content } = await vscode.lm.invokeTool(
        name,
        { input, toolInvocationToken: undefined },
        cancellation.token,
      );
      return content.map(({ value }) => value).join('');
    },
    /** Cancels the latest call. */
    cancelTool: () => cancellation.cancel(),
  };

  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    request.on('end', async () => {
      let answer;
      try {
        const [act, ...args] = JSON.parse(body);
        answer = { ok: await acts[act](...args) };
      } catch (error) {
        answer = { error: String(error) };
      }
      response.end(JSON.stringify(answer));
    });
  });
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  const socket = path.join(sockets, name);
  // that of the window's former extension host
  rmSync(socket, { force: true });
  server.listen(socket);
  context.subscriptions.push({ dispose: () => server.close() }, ...provideSymbols());
};
