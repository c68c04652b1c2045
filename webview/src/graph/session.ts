// A heap dump's view: what is selected, what its boxes and tables show of the heap, and what it is compared with.

import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type {
  GraphState,
  HeapSelection,
  HeapState,
  HeapTree,
  SeriesDump,
} from '../../../extension/shared/messages';
import type {
  AllocationSet,
  Evidence,
  GraphInfo,
  HeapFormat,
  ObjectsLink,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { setFigures } from '../base/figure';
import { t } from '../base/l10n';
import { baseName } from '../base/paths';
import { Compare, restoreCompare } from '../compare/comparison';
import { WHOLE } from '../flame/camera';
import { KeptFlame } from '../flame/settings';
import { Session, type Topics } from '../shell/session';
import { HeapBookmarks } from './heap-bookmarks';
import { located } from './groups';
import { restoreGraph } from './state';

/** Most of a heap is there before a recording begins, and would be nearly all of the picture. */
export const WITHOUT_STACK = 'stack:0';

export class GraphSession extends Session<HeapState> {
  readonly compare: Compare;
  readonly bookmarks: HeapBookmarks;
  /** How the stacks that allocated are shown; null where they aren't known. */
  readonly stacks: KeptFlame | null;
  readonly wasteOf = signal<HeapSelection | null>(null);
  readonly timeline = null;
  /** The dumps that are shown over time. */
  readonly dumps = signal<readonly SeriesDump[]>([]);
  /** How many of them are open. */
  readonly series = computed(() => this.dumps.value.filter(({ is }) => is === 'own' || is === 'open').length);
  private readonly kept: Signal<GraphState>;

  constructor(
    api: Api,
    readonly info: GraphInfo,
    readonly format: HeapFormat,
    saved: HeapState | null,
  ) {
    super(api);
    this.kept = signal(restoreGraph(info, saved?.graph ?? null));
    // widths are what the value says, and nothing has an order of time
    const { allocations } = info;
    this.stacks =
      allocations && new KeptFlame(this.state.flame, allocations, { value: 'bytes', order: 'value' });
    this.compare = new Compare(api, baseName(info.path), restoreCompare(saved?.compare), { model: 'graph' });
    this.bookmarks = new HeapBookmarks(api, (error) => this.failed(error));
    this.filtering.held.value = saved?.filter.trim() ?? '';
    if (allocations)
      this.whileShown(
        effect(() => {
          const { unit = 'bytes' } = allocations.values[this.value.value] ?? {};
          setFigures({ unit, counts: 'object' });
        }),
      );
    this.arrange({ panelOpen: this.state.selection !== null && api.saved()?.layout.panelOpen !== false });
  }

  protected override get place(): HeapState {
    return {
      model: 'graph',
      pane: this.pane.value,
      filter: this.filter,
      compare: this.compare.state,
      graph: { ...this.state, flame: this.stacks?.state ?? null },
    };
  }

  protected override readonly topics: Topics = {
    filter: () => this.filter,
    selection: () => JSON.stringify(this.state.selection),
    order: () => JSON.stringify([this.state.order, this.state.reverse, this.state.by]),
    images: () => this.state.images,
    paths: () => JSON.stringify([this.state.through, this.state.without]),
    tree: () => this.state.tree,
    compare: () => this.compare.now.value,
    set: () => this.stacks && this.stackSet.value,
    attribution: () => this.attribution.value,
    flame: () => this.stacks?.restored.value,
  };

  readonly tree = computed(() => this.state.tree);
  /** The number of the value that the stacks are shown by, and what they are of. */
  readonly value = computed(() => {
    const { value } = this.state;
    const { allocations: all } = this.info;
    return all?.values[value] === undefined ? (all?.default_value ?? 0) : value;
  });
  readonly stackSet = computed((): AllocationSet => ({
    device: 0,
    kind: 'live',
    from_moment: null,
    to_moment: null,
    filter: this.info.outside ? this.filter : `${this.filter} -${WITHOUT_STACK}`.trim(),
    value: this.value.value,
  }));

  get state(): GraphState {
    return this.kept.value;
  }

  get comparedWith(): ReadonlySignal<string | null> {
    return this.compare.with;
  }

  keep(part: Partial<GraphState>): void {
    this.kept.value = { ...this.kept.peek(), ...part };
  }

  /** Shows a place of before. */
  goTo({ graph, pane, filter }: HeapState): void {
    batch(() => {
      this.kept.value = { ...restoreGraph(this.info, graph), opened: this.state.opened };
      if (this.state.selection) this.arrange({ panelOpen: true });
      this.show(pane !== null && this.panes.includes(pane) ? pane : null);
      this.stacks?.restore(this.state.flame);
    });
    this.setFilter(filter);
  }

  select(selection: HeapSelection | null): void {
    batch(() => {
      if (selection) this.arrange({ panelOpen: true });
      this.keep({ selection });
    });
  }

  /** Shows an object that a query names. */
  showObject(object: number): void {
    if (object < this.info.objects) this.select({ is: 'object', object });
    else this.say(t('The dump has no such object.'));
  }

  showTree(tree: HeapTree): void {
    // what was in view is elsewhere then
    if (tree !== this.state.tree) this.keep({ tree, ...WHOLE });
  }

  explain(selection: HeapSelection): void {
    this.select(selection);
    this.show('why');
    // one above the other there is no room for both
    if (this.isStacked()) this.arrange({ panelOpen: false });
  }

  bookmark(selection: HeapSelection | null): void {
    if (selection) this.bookmarks.add(selection);
    else this.say(t('Select a box, a type or an object.'));
  }

  goToBookmark(by: 1 | -1): void {
    const next = this.bookmarks.next(this.state.selection, by);
    if (next) this.select(next.place);
  }

  list(filter: string): void {
    this.setFilter(filter);
    this.show('dominators');
  }

  listTypes(filter: string): void {
    this.setFilter(filter);
    this.show('types');
  }

  showStacks(name: string): void {
    this.show('flame');
    const { stacks } = this;
    const form = stacks?.settings.form === 'flame' ? 'flame' : 'icicle';
    stacks?.restore({ ...stacks.state, search: name, form });
  }

  showImages(filter: string): void {
    if (filter !== this.filter) this.setFilter(filter);
    this.show('images');
  }

  /** Shows the objects that a finding is about. */
  override readonly showObjects = ({ kind, number, sql }: ObjectsLink): void => {
    switch (kind) {
      case 'object':
        this.select({ is: 'object', object: number });
        return;
      case 'type':
        this.select({ is: 'type', kind: number });
        return;
      case 'group':
        this.select({ is: 'group', group: number });
        return;
      case 'thread':
        if (this.filter !== '') this.setFilter('');
        this.show('threads', { thread: number });
        return;
      case 'images':
        // the finding counts those that are reachable
        this.keep({ images: 'freed' });
        this.showImages('finding:"Equal images"');
        return;
      case 'query':
        this.show('sql', { query: sql });
    }
  };

  openSource(selection: HeapSelection, beside: boolean): void {
    const open = (object: number | null, kind: number | null): void =>
      this.api.post({ type: 'openObjectSource', of: { object, type: kind }, beside });
    switch (selection.is) {
      case 'object':
        open(selection.object, null);
        return;
      case 'type':
        open(null, selection.kind);
        return;
      case 'group':
        this.api.request('memlens/heapGroup', { group: selection.group, filter: '' }).answer.then(
          ({ name, largest }) => {
            const [first] = largest;
            // the line that its details name
            const { file = null, line = null } = largest.find((each) => each.file !== null) ?? {};
            if (file !== null && line !== null) this.openFrame({ file, line }, beside);
            else if (name && located(selection.group).by === 'type') open(null, name.name);
            else if (first) open(first.object, null);
            else this.say(t('The root is not an object of the program.'));
          },
          (error: unknown) => this.failed(error),
        );
    }
  }

  /** Shows the objects of what a line of source defines. */
  showDefinition(file: string, line: number): void {
    this.api.request('memlens/heapAt', { file, line }).answer.then(
      ({ type, filter }) => {
        if (type !== null) this.select({ is: 'type', kind: type });
        else if (filter !== null) this.list(filter);
        else
          this.say(t('The dump has no objects of the type or function at {0}.', `${baseName(file)}:${line}`));
      },
      (error: unknown) => this.failed(error),
    );
  }

  override showEvidence({ pane, of }: Evidence): void {
    this.setFilter(of.filter);
    this.show(pane);
  }

  protected override narrow(filter: string): void {
    const { held } = this.filtering;
    if (filter === '') {
      held.value = '';
      return;
    }
    this.filtering.waits();
    const asked = this.api.request('memlens/heapTypes', {
      filter,
      order: 'count',
      reverse: false,
      by: 'package',
      package: null,
      offset: 0,
      limit: 1,
    });
    this.narrowBy(filter, 0, asked, ({ objects }) => {
      held.value = filter;
      this.filtering.fits(objects, this.info.objects, 'objects');
      return objects;
    });
  }
}
