// A browser that sees this VS Code for the first time knows no custom editors yet while it restores the window,
// so a file named in the page's address would come up as text. This waits until they are registered.
'use strict';
const vscode = require('vscode');

exports.activate = async () => {
  const file = process.env.MEMLENS_OPEN_FIRST;
  const restored = vscode.window.tabGroups.all.some((group) => group.tabs.length > 0);
  if (!file || restored) return; // a reload shows again what was open
  await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file), { preview: false });
};
