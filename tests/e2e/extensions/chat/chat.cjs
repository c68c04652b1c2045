// Calls tools as a chat does when its model asks for them. A test writes what the model says into ask.json of the
// workspace's folder, and finds what the model would be told in answer.json.
'use strict';
const { existsSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

const POLL_MS = 100;

exports.activate = (context) => {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (folder === undefined) return;
  const ask = path.join(folder, 'ask.json');
  let cancel = new vscode.CancellationTokenSource();

  const answer = async ({ tool, input, cancelling }) => {
    if (cancelling) return cancel.cancel();
    if (tool === undefined)
      return vscode.lm.tools.map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema,
      }));
    cancel = new vscode.CancellationTokenSource();
    const options = { input, toolInvocationToken: undefined };
    const { content } = await vscode.lm.invokeTool(tool, options, cancel.token);
    return content.map(({ value }) => value).join('');
  };

  const look = async () => {
    if (!existsSync(ask)) return;
    const { id, ...asked } = JSON.parse(readFileSync(ask, 'utf8'));
    rmSync(ask);
    let told;
    try {
      told = { ok: await answer(asked) };
    } catch (error) {
      told = { error: `${error.name}: ${error.message}` };
    }
    // Whole or not at all, because the test looks for it.
    const file = path.join(folder, `answer-${id}.json`);
    writeFileSync(`${file}.partial`, JSON.stringify(told));
    renameSync(`${file}.partial`, file);
  };
  const timer = setInterval(() => void look(), POLL_MS);
  context.subscriptions.push({ dispose: () => timer.close() });
};
