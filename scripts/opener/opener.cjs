// In a browser's first window, custom editors are not registered yet while the window is restored, so a file in the
// page's address would be opened as text. This extension opens it after they are registered.
'use strict';
const vscode = require('vscode');

exports.activate = async () => {
  const file = process.env.MEMLENS_OPEN_FIRST;
  const restored = vscode.window.tabGroups.all.some((group) => group.tabs.length > 0);
  if (!file || restored) return; // a reload restores what was open
  await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file), { preview: false });
};
