import * as vscode from 'vscode';
import { MESSAGE_SIGNS } from '../../shared/declared.gen';
import type { ExplainedMessage } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { ShownTexts } from '../base/shownTexts';
import { plainLenses, showInformation } from '../base/window';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';

const COMMAND = 'memlens.explainMemoryError';
const LOGS: vscode.DocumentSelector = [{ language: 'log' }, { language: 'plaintext' }];
/** The most characters that are sent, the end of a longer text: what ended a process stands last. */
const MOST_TEXT = 1 << 22;

/** "Explain Memory Error…", of the selection or else of the clipboard, and the lenses above such lines in logs. */
export function registerExplainCommand(server: Pick<Server, 'request'>): vscode.Disposable {
  const shown = new ShownTexts('memlens-explained');
  const show = (markdown: string): Thenable<unknown> =>
    vscode.commands.executeCommand(
      'markdown.showPreview',
      shown.add(`${vscode.l10n.t('Memory Error')}.md`, markdown),
    );
  return vscode.Disposable.from(
    shown,
    new ExplainLenses(server),
    // a lens gives it what the server has said
    vscode.commands.registerCommand(COMMAND, async (explained?: unknown) => {
      if (typeof explained === 'string') return show(explained);
      const selected = selection();
      const text = selected || (await vscode.env.clipboard.readText());
      if (text.trim() === '') {
        void showInformation(
          vscode.l10n.t('Copy the message first, or select its lines: the clipboard is empty.'),
        );
        return undefined;
      }
      try {
        const name =
          selected === '' ? vscode.l10n.t('The text in the clipboard') : vscode.l10n.t('The selected text');
        const { messages, notes } = await server.request('memlens/explain', {
          text: text.slice(-MOST_TEXT),
          name,
        });
        return await show([...messages.map(({ markdown }) => markdown), ...notes].join('\n'));
      } catch (error) {
        showProblem(error);
        return undefined;
      }
    }),
  );
}

function selection(): string {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined ? '' : editor.document.getText(editor.selection);
}

/** Whether a log is shown as text: it alone needs no server, unless it has a message. */
export function isLogShown(): boolean {
  return vscode.window.visibleTextEditors.some(({ document }) => document.languageId.toLowerCase() === 'log');
}

/** Whether a text may have a message that the server explains; it isn't asked about others. */
export function mayHaveMessage(text: string): boolean {
  return MESSAGE_SIGNS.some((sign) => text.includes(sign));
}

/** The end of a text from the beginning of a line on, and how many lines are before it. */
export function endOf(text: string, most: number): { end: string; before: number } {
  if (text.length <= most) return { end: text, before: 0 };
  const start = text.indexOf('\n', text.length - most) + 1 || text.length;
  let before = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < start; at = text.indexOf('\n', at + 1)) before++;
  return { end: text.slice(start), before };
}

/** Lenses above the messages in logs that say why memory ran out. */
class ExplainLenses extends Disposable implements vscode.CodeLensProvider {
  constructor(private readonly server: Pick<Server, 'request'>) {
    super();
    this.own(vscode.languages.registerCodeLensProvider(LOGS, this));
  }

  async provideCodeLenses(
    document: vscode.TextDocument,
    token: vscode.CancellationToken,
  ): Promise<vscode.CodeLens[]> {
    const { end, before } = endOf(document.getText(), MOST_TEXT);
    if (document.uri.scheme === 'output' || !mayHaveMessage(end)) return [];
    try {
      const { messages } = await this.server.request('memlens/explain', { text: end, name: '' }, token);
      return plainLenses(messages.map((message) => lensOf(message, before)));
    } catch {
      // it has none, or the server doesn't run, which others report
      return [];
    }
  }
}

function lensOf({ line, title, markdown }: ExplainedMessage, before: number): vscode.CodeLens {
  const at = before + line - 1;
  return new vscode.CodeLens(new vscode.Range(at, 0, at, 0), {
    title: vscode.l10n.t('Explain this memory error: {0}', title),
    command: COMMAND,
    arguments: [markdown],
  });
}
