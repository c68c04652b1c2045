import * as vscode from 'vscode';
import type { BookmarkChange } from '../../shared/messages';
import { input, showError } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { SnapshotView } from '../editor/view';
import type { Server } from '../server/client';
import { problemOf } from '../server/problem';

/** Change a snapshot's bookmarks, asking for the note where there is one to write; all views of the file show it. */
export async function changeBookmarks(
  server: Server,
  editors: SnapshotEditorProvider,
  view: SnapshotView,
  change: BookmarkChange,
): Promise<void> {
  const { snapshot } = view;
  if (snapshot === null) return;
  try {
    if (!(await changed(server, snapshot, change))) return;
    for (const each of editors.views)
      if (each.uri.toString() === view.uri.toString()) each.send({ type: 'bookmarks' });
  } catch (error) {
    const { message, advice } = problemOf(error);
    await showError([message, advice].filter(Boolean).join('. '));
  }
}

/** Whether there was a change: the user may have written no note after all. */
async function changed(server: Server, snapshot: string, change: BookmarkChange): Promise<boolean> {
  switch (change.is) {
    case 'add': {
      const note = await askForNote(vscode.l10n.t('Add Bookmark'), change.title, '');
      if (note === undefined) return false;
      await server.request('memlens/addBookmark', { snapshot, place: change.place, note });
      return true;
    }
    case 'rename': {
      const note = await askForNote(vscode.l10n.t('Rename Bookmark'), change.title, change.note);
      if (note === undefined) return false;
      await server.request('memlens/renameBookmark', { snapshot, bookmark: change.bookmark, note });
      return true;
    }
    case 'delete':
      await server.request('memlens/deleteBookmark', { snapshot, bookmark: change.bookmark });
      return true;
  }
}

const LONGEST_NOTE = 2000;

async function askForNote(title: string, prompt: string, value: string): Promise<string | undefined> {
  const note = await input({
    ...{ title, prompt, value, placeHolder: vscode.l10n.t('Note') },
    validateInput: (text) =>
      text.length > LONGEST_NOTE
        ? vscode.l10n.t('A note has at most {0} characters.', LONGEST_NOTE.toLocaleString('en-US'))
        : null,
  });
  return note?.trim();
}
