import * as vscode from 'vscode';
import { HOVER_COMMANDS, type Server } from '../server/client';
import { documentOf } from './documents';

/** Hovers in notebook cells, which are identified by their text; the language client never sends it. */
export function registerCellHover(server: Server): vscode.Disposable {
  return vscode.languages.registerHoverProvider(
    { scheme: 'vscode-notebook-cell', language: 'python' },
    {
      async provideHover(text, position, token) {
        const document = documentOf(text);
        if (document === null || server.open === 0) return null;
        const params = { document, line: position.line + 1 };
        const { markdown } = await server.request('memlens/cellHover', params, token);
        if (markdown === '') return null;
        const content = new vscode.MarkdownString(markdown);
        content.isTrusted = { enabledCommands: HOVER_COMMANDS };
        return new vscode.Hover(content);
      },
    },
  );
}
