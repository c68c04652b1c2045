import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import * as vscode from 'vscode';
import { Disposable } from '../base/disposable';
import { showInformation } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';

const HEAD_BYTES = 4096;
/** Windows has no such flag. */
const NONBLOCK = constants.O_NONBLOCK as number | undefined;

/** Whether the active tab has a page as text: then it may be a snapshot, and nothing else needs the server yet. */
export function isPageActive(): boolean {
  return pageOf(vscode.window.tabGroups.activeTabGroup.activeTab) !== undefined;
}

/** Offers to open a page of PyTorch's memory_viz, which has the snapshot in it, where its text is shown. */
export class PageOffers extends Disposable {
  readonly #asked = new Set<string>();

  constructor(private readonly editors: Pick<SnapshotEditorProvider, 'show'>) {
    super();
    this.own(
      vscode.window.tabGroups.onDidChangeTabs(({ opened, changed }) => {
        for (const tab of [...opened, ...changed]) if (tab.isActive) void this.#look(tab);
      }),
    );
    const { activeTab } = vscode.window.tabGroups.activeTabGroup;
    if (activeTab !== undefined) void this.#look(activeTab);
  }

  async #look(tab: vscode.Tab): Promise<void> {
    const uri = pageOf(tab);
    if (uri === undefined || this.#asked.has(uri.toString())) return;
    this.#asked.add(uri.toString());
    if (!isMemoryViz(await headOf(uri.fsPath))) return;
    const choice = await showInformation(
      vscode.l10n.t('This page of PyTorch’s memory_viz has a memory snapshot in it.'),
      vscode.l10n.t('Open as Memory Snapshot'),
    );
    if (choice === undefined) return;
    await this.editors.show(uri);
    // nobody has changed the text of a page that was opened to be looked at as a snapshot
    if (!tab.isDirty) await vscode.window.tabGroups.close(tab);
  }
}

/** Whether a page begins as `torch.cuda._memory_viz` writes it: it imports the viewer, and then has the snapshot. */
export function isMemoryViz(head: string): boolean {
  return /^\s*<!DOCTYPE html>/i.test(head) && head.includes('/MemoryViz.js"');
}

function pageOf(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  const input: unknown = tab?.input;
  if (!(input instanceof vscode.TabInputText)) return undefined;
  return input.uri.scheme === 'file' && /\.html?$/i.test(input.uri.path) ? input.uri : undefined;
}

/** The beginning of a page. A pipe of that name, for whose other end a thread of all files would wait, has none. */
export async function headOf(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | (NONBLOCK ?? 0));
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      return buffer.toString('latin1', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}
