// What a view shows and how it is arranged, in one place: handlers change its signals, parts follow them. What is kept of it
// is one value, which is also where a link leads, and what going back and forward return to.

import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Action, PaneId, ViewCommand } from '../../../extension/shared/commands';
import type { ViewState } from '../../../extension/shared/messages';
import type { Evidence, Frame, ObjectsLink, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { follow } from '../base/follow';
import type { Pending } from '../base/request';
import type { Layout } from '../base/saved';
import { KeptAttribution } from './attribution';
import type { CommandOf } from './command';
import type { Change } from './context';
import type { Revealed } from './pane';
import { Filtering } from './filtering';
import { KeyTable } from './key-table';
import { Notes } from './notes';
import { saver, type Saver } from './saver';
import { restoreLayout } from './state';

/** What may change, each as a value that is another when it has. */
export type Topics = Readonly<Partial<Record<Change, () => unknown>>>;

export abstract class Session<S extends ViewState = ViewState> {
  /** The pane that is shown; null when the panel is closed. */
  readonly pane = signal<PaneId | null>(null);
  /** The panes that there are. */
  panes: readonly PaneId[] = [];
  /** What the pane that is shown is to show of itself. */
  readonly revealed = signal<Revealed | null>(null);
  readonly layout: Signal<Layout>;
  /** Whether the details are below all else, as in a narrow window. */
  isStacked: () => boolean = () => false;
  readonly filtering = new Filtering((error) => this.failed(error));
  readonly attribution: KeptAttribution;
  readonly notes = new Notes();
  private readonly stop = new AbortController();
  private readonly endings: (() => void)[] = [];
  private readonly saveSoon: Saver = saver(() => this.save(), this.stop.signal);

  /** Shows objects; null for a model without. */
  readonly showObjects: ((objects: ObjectsLink) => void) | null = null;
  abstract readonly info: SnapshotInfo;
  /** The name of what it is compared with. */
  abstract readonly comparedWith: ReadonlySignal<string | null>;
  /** What is kept of it. */
  protected abstract get place(): S;
  /** What parts follow. */
  protected abstract readonly topics: Topics;
  /** The commands that do something now. */
  readonly commands = computed((): readonly ViewCommand[] => [
    ...this.rows.flatMap((row) => {
      // SAFETY: rows of its model.
      const isOffered = row.palette !== undefined && (row.when?.(this as never) ?? true);
      return isOffered ? [row.action as ViewCommand] : [];
    }),
    ...this.places,
  ]);
  /** Its keys, and what they do. */
  keys = new KeyTable<Action>([]);
  private rows: readonly CommandOf[] = [];
  /** Asks about a filter, and holds it if nothing is wrong with it. */
  protected abstract narrow(filter: string): void;

  constructor(readonly api: Api) {
    this.layout = signal(restoreLayout(api.saved()?.layout));
    this.attribution = new KeptAttribution(api);
  }

  /** The commands that show a part of it. */
  protected get places(): readonly ViewCommand[] {
    return this.panes.map((id) => `pane.${id}` as const);
  }

  /** What keys and commands do in its view, and commands alone in every one. */
  declare(rows: readonly CommandOf[], others: readonly CommandOf[]): void {
    this.rows = [...rows, ...others];
    this.keys = new KeyTable(rows);
  }

  /** Until the view is left. */
  get left(): AbortSignal {
    return this.stop.signal;
  }

  get filter(): string {
    return this.filtering.held.value;
  }

  /** From here on parts follow what changes, and the state is kept. */
  begin(changed: (changes: ReadonlySet<Change>) => void): void {
    this.whileShown(follow(this.topics, changed));
    this.whileShown(
      effect(() => {
        void [this.place, this.layout.value, this.commands.value];
        this.saveSoon();
      }),
    );
  }

  /** Ends something when the view is left. */
  whileShown(end: () => void): void {
    this.endings.push(end);
  }

  dispose(): void {
    this.saveSoon.flush();
    this.stop.abort();
    for (const end of this.endings) end();
  }

  save(): void {
    this.saveSoon.cancel();
    this.api.save(this.place, this.layout.value, this.commands.value);
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    this.filtering.write(text);
    this.narrow(text);
  }

  /** Asks about a filter; `hold` uses the answer, and says of how much that matches. */
  protected narrowBy<A>(
    filter: string,
    device: number,
    asked: Pending<A>,
    hold: (answer: A) => number,
    failed?: () => void,
  ): void {
    this.filtering.ask(
      asked,
      (answer) => {
        if (hold(answer) === 0)
          this.filtering.explain(this.api.request('memlens/filterMatches', { device, filter }));
      },
      failed,
    );
  }

  /** Shows a pane, and a part of it; what has nothing to show for this file isn't there. */
  show(pane: PaneId | null, part: Revealed | null = null): void {
    batch(() => {
      if (pane === null || this.panes.includes(pane)) this.pane.value = pane;
      if (part) this.revealed.value = part;
    });
  }

  arrange(part: Partial<Layout>): void {
    const next = { ...this.layout.peek(), ...part };
    if (JSON.stringify(next) !== JSON.stringify(this.layout.peek())) this.layout.value = next;
  }

  /** Opens the file of a frame at its line. */
  openFrame({ file, line }: Pick<Frame, 'file' | 'line'>, beside: boolean): void {
    this.api.post({ type: 'openSource', file, line, beside });
  }

  /** Opens the declaration of a type or a field, by the name that the server gave it. */
  openDeclaration(declared: string, beside: boolean): void {
    this.api.post({ type: 'openObjectSource', of: { declared }, beside });
  }

  copy(text: string): void {
    this.api.post({ type: 'copy', text });
  }

  /** Shows the evidence of a sentence: its set, and the pane that has it. */
  abstract showEvidence(evidence: Evidence): void;

  showComparison(): void {
    this.show('compare');
  }

  say(text: string): void {
    this.notes.say(text);
  }

  hear(text: string): void {
    this.notes.hear(text);
  }

  failed(error: unknown): void {
    this.notes.failed(error);
  }
}
