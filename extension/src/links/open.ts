import { homedir } from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import type { ViewState } from '../../shared/messages';
import { isFile, isWithin } from '../base/files';
import { askWarning, showError, showStatus } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { SnapshotView } from '../editor/view';
import { ownPath, readLink, readsMore, sharedPath, writeLink, type Link } from './link';

/** Put a link to a place of a view's snapshot on the clipboard. */
export async function copyLink(
  extension: string,
  view: SnapshotView,
  state: ViewState | null,
): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(view.uri);
  const within = folder === undefined ? null : path.posix.relative(folder.uri.path, view.uri.path);
  const link = { path: within ?? sharedPath(view.uri.fsPath, homedir()), within, state };
  await vscode.env.clipboard.writeText(writeLink(vscode.env.uriScheme, extension, link));
  showStatus(vscode.l10n.t('Link copied'), 3_000);
}

/** Open links to places in snapshots. They open an editor, and run nothing. */
export function registerLinks(editors: SnapshotEditorProvider): vscode.Disposable {
  return vscode.window.registerUriHandler({
    handleUri: async (uri) => {
      const link = readLink(uri);
      if (link === null) {
        await showError(vscode.l10n.t('Memlens can’t read this link.'));
        return;
      }
      const file = (await inWorkspace(link)) ?? (await confirmed(link));
      if (file === null) return;
      const view = await editors.open(file);
      view?.reveal();
      if (link.state !== null) view?.goTo(await agreed(link.state));
    },
  });
}

/** The state of a link, without its filter if that would read other files or run a query and the user doesn't want it. */
async function agreed(state: ViewState): Promise<ViewState> {
  if (!readsMore(state.filter)) return state;
  const use = vscode.l10n.t('Use Filter');
  const question = vscode.l10n.t('The filter of a link wants to read other files or to run a query.');
  return (await askWarning(question, state.filter, use)) === use ? state : { ...state, filter: '' };
}

/** The file of a link in this workspace, which need not be where it was on the machine that made the link. */
async function inWorkspace({ path: shared, within }: Link): Promise<vscode.Uri | null> {
  const file = ownPath(shared, homedir());
  const folders = vscode.workspace.workspaceFolders ?? [];
  const found = folders
    .filter(({ uri }) => uri.scheme === 'file')
    .flatMap(({ uri }) =>
      [
        ...(within === null ? [] : [path.resolve(uri.fsPath, within)]),
        ...(path.isAbsolute(file) ? [path.normalize(file)] : []),
      ].filter((each) => isWithin(uri.fsPath, each)),
    );
  for (const each of found) if (await isFile(each)) return vscode.Uri.file(each);
  return null;
}

/** A file outside the workspace is opened, and even looked for, only if the user wants it. */
async function confirmed({ path: shared }: Link): Promise<vscode.Uri | null> {
  const file = ownPath(shared, homedir());
  if (!path.isAbsolute(file)) {
    await showError(
      vscode.l10n.t('This workspace has no file {0}: open the folder that the link was made in.', file),
    );
    return null;
  }
  const choice = await askWarning(
    vscode.l10n.t('A link wants to open a file that is not in this workspace.'),
    file,
    vscode.l10n.t('Open'),
  );
  if (choice === undefined) return null;
  if (await isFile(file)) return vscode.Uri.file(file);
  await showError(vscode.l10n.t('There is no file {0} on this machine.', file));
  return null;
}
