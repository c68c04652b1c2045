// What the views of all models have in common.

import type { Action, ViewCommand } from '../../../extension/shared/commands';
import type { ViewState } from '../../../extension/shared/messages';
import type { HostMessage } from '../api';
import type { Around } from './around';
import type { CommandOf } from './command';
import type { Change } from './context';
import type { Dock } from './dock';
import type { AskedSvg } from './export';
import { listenForKeys } from './keyboard';
import { EVERYWHERE, type ShownView } from './page';
import type { Session } from './session';

/** The view of a snapshot. */
export abstract class ModelView<S extends Session> implements ShownView {
  abstract readonly dock: Dock;
  abstract readonly around: Around;
  abstract readonly reported: number | null;

  constructor(
    readonly session: S,
    protected readonly root: HTMLElement,
    /** What its keys and commands do, besides what the page does. */
    private readonly rows: readonly CommandOf[],
  ) {
    session.declare(rows, EVERYWHERE);
  }

  abstract goTo(state: ViewState): void;
  abstract picture(): AskedSvg;
  /** What is shown when something changed. */
  protected abstract update(changes: ReadonlySet<Change>): void;
  /** A message that is of its model. */
  protected abstract heed(message: HostMessage): void;

  get commands(): readonly ViewCommand[] {
    return this.session.commands.value;
  }

  receive(message: HostMessage): void {
    if (message.type === 'file') this.around.fileBar.show(message.of, message.state);
    else if (message.type === 'command') this.run(message.command);
    else this.heed(message);
  }

  run(action: Action): void {
    const [, pane] = /^pane\.(\w+)$/.exec(action) ?? [];
    if (pane !== undefined) this.dock.showPane(pane);
    // SAFETY: its rows act on it.
    else this.rows.find((row) => row.action === action)?.run(this as never);
  }

  save(): void {
    this.session.save();
  }

  failed(error: unknown): void {
    this.session.failed(error);
  }

  dispose(): void {
    this.around.summary.drop();
    this.session.dispose();
    delete this.root.dataset['model'];
  }

  /** From here on it has its keys, and follows what changes. */
  protected begin(): void {
    const { session, around } = this;
    listenForKeys(session.keys, around.help, (action) => this.run(action), session.left);
    session.begin((changes) => this.update(changes));
  }

  /** Says what the file comes to, and that it is there to be seen; that of a trace comes with its picture. */
  protected show(): void {
    const { around, root, session } = this;
    around.summary.turnTo(null);
    around.summary.find();
    root.dataset['state'] = 'ready';
    root.dataset['model'] = session.info.model;
  }
}
