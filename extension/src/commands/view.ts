import * as vscode from 'vscode';
import { VIEW_COMMANDS, type CommandList } from '../../shared/commands';
import { COMMANDS } from '../../shared/commands.gen';
import { pick } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';

/** A view that is hidden never says that it has the focus. */
const MOST_FOCUS_MS = 500;

/** What is read of the manifest: the titles of commands, in the user's language. */
interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string }[];
  };
}

/** Registers the active view's commands, which keys can be bound to, and the palette's lists of them. */
export function registerViewCommands(
  extension: Pick<vscode.Extension<unknown>, 'packageJSON'>,
  editors: SnapshotEditorProvider,
): vscode.Disposable {
  // SAFETY: this extension's own package.json.
  const { contributes } = extension.packageJSON as Manifest;
  const titleOf = (name: string): string =>
    contributes.commands.find(({ command }) => command === `memlens.${name}`)?.title ?? name;
  const list = (name: CommandList): vscode.Disposable =>
    vscode.commands.registerCommand(`memlens.${name}`, async () => {
      const items = inList(name, editors).map((command) => ({ label: titleOf(command), command }));
      await focusSettled(editors);
      const chosen = await pick(items, { title: `Memlens: ${titleOf(name)}` });
      if (chosen === undefined) return;
      // what it does may begin with a list, too
      await focusSettled(editors);
      await vscode.commands.executeCommand(`memlens.${chosen.command}`);
    });
  return vscode.Disposable.from(
    ...VIEW_COMMANDS.map((command) =>
      vscode.commands.registerCommand(`memlens.${command}`, () => {
        editors.active?.send({ type: 'command', command });
      }),
    ),
    ...(['show', 'groupBy', 'navigate', 'share'] as const).map(list),
    vscode.commands.registerCommand('memlens.reload', async () => {
      await editors.active?.reload();
    }),
  );
}

/** Waits until the view has its focus back from a list: another that opens earlier would be closed by that. */
function focusSettled({ active }: Pick<SnapshotEditorProvider, 'active'>): Promise<void> {
  return new Promise((resolve) => {
    if (active === undefined) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      settled.dispose();
      resolve();
    };
    const timer = setTimeout(done, MOST_FOCUS_MS);
    const settled = active.onFocusSettled(done);
  });
}

/** The commands of a list that do something in the active view. */
function inList(list: CommandList, { active }: Pick<SnapshotEditorProvider, 'active'>): readonly string[] {
  if (active === undefined) return [];
  const found: string[] = VIEW_COMMANDS.filter((command) => {
    const isListed = COMMANDS[command] === list;
    if (command === 'back' || command === 'forward')
      return isListed && active.canGo(command === 'back' ? -1 : 1);
    return isListed && active.commands.includes(command);
  });
  if (list === 'share' && active.hasValues) found.push('redact');
  return found;
}
