import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { withProgress, type CommandLink } from '../base/window';
import type { Server } from './client';

/**
 * Show the progress of a request that reports it by a view's name, which `ask` gets, and let the user cancel it. While
 * it isn't known how much there is to do, the stage says what is done, in the `words` for it.
 *
 * Returns its answer; undefined if the user cancelled. Throws what went wrong.
 */
export function showWork<T>(
  server: Server,
  title: string,
  ask: (view: string, token: vscode.CancellationToken) => Promise<T>,
  words: (stage: string, view: string) => string | CommandLink = (stage) => stage,
): Thenable<T | undefined> {
  const view = `work:${randomBytes(8).toString('hex')}`;
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return withProgress(options, async (progress, token) => {
    let shown = 0;
    let said = '';
    const listening = server.onDidProgress(({ view: of, stage, fraction }) => {
      if (of !== view) return;
      if (fraction === null) {
        const message = words(stage, view);
        const text = typeof message === 'string' ? message : message.markdown;
        // a notification is drawn anew with each message, and a click on its link is lost if that is between press and release
        if (text !== said) progress.report({ message });
        said = text;
        return;
      }
      const percent = Math.floor(fraction * 100);
      if (percent <= shown) return;
      progress.report({ increment: percent - shown, message: `${percent}%` });
      shown = percent;
    });
    try {
      return await ask(view, token);
    } catch (error) {
      if (token.isCancellationRequested) return undefined;
      throw error;
    } finally {
      listening.dispose();
    }
  });
}
