import * as vscode from 'vscode';
import { showStatus } from '../base/window';
import type { Server } from '../server/client';
import { documentOf } from './documents';
import { figures } from './words';
import { measure } from '../settings';

const SHOWN_MS = 5_000;

/** "Next Line That Allocates" and "Previous…", which wrap around within the file. */
export function registerNavigation(server: Server): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerTextEditorCommand('memlens.nextLine', (editor) => void step(server, editor, 1)),
    vscode.commands.registerTextEditorCommand(
      'memlens.previousLine',
      (editor) => void step(server, editor, -1),
    ),
  );
}

async function step(server: Server, editor: vscode.TextEditor, direction: 1 | -1): Promise<void> {
  const document = documentOf(editor.document);
  if (document === null) return;
  const { files } = await server.request('memlens/lineHeat', { document });
  const lines = files.flatMap((file) => file.lines.map((line) => ({ file, line })));
  const numbers = [...new Set(lines.map(({ line }) => line.line))].sort((a, b) => a - b);
  const here = editor.selection.active.line + 1;
  const target = next(numbers, here, direction);
  if (target === null) {
    showMessage(vscode.l10n.t('No open snapshot has an allocation in this file'));
    return;
  }
  const at = editor.document.lineAt(Math.min(target.line, editor.document.lineCount) - 1);
  const start = new vscode.Position(at.lineNumber, at.firstNonWhitespaceCharacterIndex);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(at.range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  const hot = lines.find(({ line }) => line.line === target.line);
  const what = hot && (hot.line.changed?.message ?? figures(hot.file, hot.line, measure()));
  const text = what ?? '';
  if (!target.wrapped) showMessage(vscode.l10n.t('Line {0}: {1}', target.line, text));
  else if (direction === 1)
    showMessage(vscode.l10n.t('Continued from the top: line {0}, {1}', target.line, text));
  else showMessage(vscode.l10n.t('Continued from the end: line {0}, {1}', target.line, text));
}

/** Returns the nearest of `numbers` (ascending) after or before `here`, else the first or last of them. */
export function next(
  numbers: readonly number[],
  here: number,
  direction: 1 | -1,
): { line: number; wrapped: boolean } | null {
  const ordered = direction === 1 ? numbers : numbers.toReversed();
  const beyond = ordered.find((number) => (number - here) * direction > 0);
  const first = ordered[0];
  if (first === undefined) return null;
  return beyond === undefined ? { line: first, wrapped: true } : { line: beyond, wrapped: false };
}

function showMessage(message: string): void {
  showStatus(message, SHOWN_MS);
}
