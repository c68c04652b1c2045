import path from 'node:path';
import * as vscode from 'vscode';
import { isFile } from '../base/files';
import { openDialog, pick } from '../base/window';
import { mapPaths, rememberPath } from '../settings';
import { foldersOf, mappingOf, settingOf, type Mapping } from './mapping';

/**
 * Let the user say where a file of a snapshot is, or the folder that it is below. What that says about other files of
 * the same root is kept in the workspace's settings. Returns whether anything was chosen.
 */
export async function locate(
  what: 'file' | 'folder',
  file: string,
  memory: vscode.Memento,
): Promise<boolean> {
  const name = file.split(/[/\\]/).at(-1) ?? file;
  const isFolder = what === 'folder';
  const chosen = await openDialog({
    title: isFolder
      ? vscode.l10n.t('Which folder has {0} below it?', name)
      : vscode.l10n.t('Where is {0}?', name),
    openLabel: isFolder ? vscode.l10n.t('Map Folder') : vscode.l10n.t('Locate'),
    canSelectFiles: !isFolder,
    canSelectFolders: isFolder,
    ...(vscode.workspace.workspaceFolders?.[0] && { defaultUri: vscode.workspace.workspaceFolders[0].uri }),
  });
  const [uri] = chosen ?? [];
  if (uri?.scheme !== 'file') return false;
  const mapping = isFolder ? await mappingTo(uri.fsPath, file) : mappingOf(file, uri.fsPath);
  if (mapping !== null) await mapPaths(mapping.prefix, settingOf(mapping.folder, roots()));
  // a file of another name says nothing about others
  else if (!isFolder) await rememberPath(memory, file, uri.fsPath);
  return mapping !== null || !isFolder;
}

/** Which of the folders that a snapshot's file lies in is a folder here: the one below which it is found, else asked. */
async function mappingTo(folder: string, file: string): Promise<Mapping | null> {
  const places = foldersOf(file);
  for (const { prefix, below } of places.toReversed())
    if (await isFile(path.join(folder, ...below))) return { prefix, folder };
  const choice = await pick(
    places.map(({ prefix, below }) => ({ label: prefix, description: below.join('/'), prefix })),
    {
      title: vscode.l10n.t('Which folder of the snapshot is {0}?', path.basename(folder)),
      placeHolder: vscode.l10n.t(
        '{0} was not found below it. Choose the folder of the snapshot that matches it.',
        file,
      ),
    },
  );
  return choice === undefined ? null : { prefix: choice.prefix, folder };
}

function roots(): { name: string; path: string }[] {
  return (vscode.workspace.workspaceFolders ?? []).map(({ name, uri }) => ({ name, path: uri.fsPath }));
}
