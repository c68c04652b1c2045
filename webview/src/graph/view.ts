// A heap dump's view: what holds the memory as boxes, the tables below, and what is selected beside them.

import { signal } from '@preact/signals';
import {
  VIEW_COMMANDS,
  type GraphState,
  type HeapSelection,
  type HeapTree,
  type ViewCommand,
  type ViewState,
} from '../../../extension/shared/messages';
import type {
  Evidence,
  GraphInfo,
  HeapFormat,
  LineLink,
  ObjectsLink,
} from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { t } from '../base/l10n';
import { baseName } from '../base/paths';
import { visible } from '../base/text';
import { Compare, restoreCompare } from '../compare/comparison';
import { WHOLE } from '../flame/camera';
import { EVERYTHING } from '../shell/context';
import { savePicture, type AskedSvg } from '../shell/export';
import { listenForKeys } from '../shell/keyboard';
import { GRAPH_KEYS, type GraphAction } from '../shell/keys';
import { Narrowing } from '../shell/narrowing';
import { Panels } from '../shell/panels';
import { saver } from '../shell/saver';
import { isOf, keptState } from '../shell/state';
import { shareEntries, SHARED_COMMANDS } from '../shell/share';
import type { MenuEntry } from '../widgets/menu';
import { HeapBookmarks } from './bookmarks';
import { sameSelection } from './context';
import { canExplain } from './menu';
import { makeParts, type GraphParts, type PartsOwner } from './parts';
import { located } from './groups';
import { restoreGraph } from './state';
import { factsOf, setFormat } from './words';

export class GraphView implements PartsOwner {
  filter = '';
  state: GraphState;
  readonly reported = null;
  readonly wasteOf = signal<HeapSelection | null>(null);
  readonly bookmarks: HeapBookmarks;
  readonly tree = signal<HeapTree>('dominators');
  readonly comparedWith = signal<string | null>(null);
  private readonly compare: Compare;
  private readonly parts: GraphParts;
  private readonly stop = new AbortController();
  private readonly panels: Panels;
  private readonly narrowing = new Narrowing((error) => this.failed(error));
  private readonly saveSoon = saver(() => this.save(), this.stop.signal);

  constructor(
    readonly api: Api,
    private readonly root: HTMLElement,
    readonly info: GraphInfo,
    readonly format: HeapFormat,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const state = keptState('graph', hostState, saved);
    setFormat(format);
    this.state = restoreGraph(info, state?.graph ?? null);
    this.tree.value = this.state.tree;
    this.compare = new Compare(
      api,
      baseName(info.path),
      restoreCompare(state?.compare),
      () => {
        this.comparedWith.value = this.compare.other?.name ?? null;
        this.parts.dock.update(['compare']);
        this.saveSoon();
      },
      { model: 'graph' },
    );
    this.bookmarks = new HeapBookmarks(api, {
      changed: () => this.saveSoon(),
      failed: (error) => this.failed(error),
    });
    this.parts = makeParts(this, { root, compare: this.compare, layout: saved?.layout });
    this.panels = new Panels(this.parts, () => this.focusPicture());
    const { icicle, dock, filterBox, inspector, summary, frame, recorded } = this.parts;
    listenForKeys(GRAPH_KEYS, this.parts.help, (action) => this.act(action), this.stop.signal);
    frame.status.value = visible(factsOf(info));
    this.filter = state?.filter.trim() ?? '';
    filterBox.show(this.filter);
    this.arrange();
    icicle.begin();
    dock.update(EVERYTHING);
    this.panels.restorePane(state ? state.pane : 'types');
    if (this.state.selection) inspector.show(this.state.selection);
    if (this.filter !== '') this.setFilter(this.filter);
    recorded?.renew();
    summary.turnTo(null);
    summary.find();
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'graph';
  }

  dispose(): void {
    this.saveSoon.flush();
    this.stop.abort();
    const { dock, summary, icicle, inspector, frame, recorded } = this.parts;
    summary.drop();
    recorded?.dispose();
    for (const part of [dock, icicle, inspector, frame]) part.dispose();
    delete this.root.dataset['model'];
  }

  receive(message: HostMessage): void {
    const { dock, comparePane, fileBar } = this.parts;
    switch (message.type) {
      case 'showLine':
        this.showDefinition(message.file, message.line);
        return;
      case 'sourceMissing': {
        const { file, lookedFor, advice = '', downloadable = false } = message;
        const text =
          lookedFor.length === 0
            ? t('The dump doesn’t say where {0} is defined.', visible(file))
            : t('{0} was not found.', visible(baseName(file)));
        this.parts.inspector.sourceMissing({ text, lookedFor, advice, downloadable });
        this.failed(new Error(advice === '' ? text : `${text} ${advice}`));
        return;
      }
      case 'other':
        this.compare.receive(message.other);
        if (message.fresh) dock.show('compare');
        return;
      case 'series':
        this.keep({ series: message.dumps.flatMap(({ is, uri }) => (is === 'own' ? [] : [uri])) });
        comparePane.series.receive(message.dumps);
        return;
      case 'bookmarks':
        this.bookmarks.renew();
        return;
      case 'file':
        fileBar.show(message.of, message.state);
        return;
      case 'command':
        this.run(message.command);
        return;
      default:
        return;
    }
  }

  /** Shows a place of before. */
  goTo(state: ViewState): void {
    if (!isOf('graph', state)) return;
    const { icicle, inspector, frame, dock } = this.parts;
    const before = this.state;
    this.state = { ...restoreGraph(this.info, state.graph), opened: before.opened };
    const { x0, x1, top, selection, tree } = this.state;
    this.tree.value = tree;
    if (before.grouped === this.state.grouped && before.tree === tree) icicle.goTo({ x0, x1, top });
    else icicle.begin();
    if (!sameSelection(before.selection, selection)) {
      inspector.show(selection);
      icicle.mark();
    }
    if (selection && !frame.current.panelOpen) frame.set({ panelOpen: true });
    this.panels.restorePane(state.pane);
    this.parts.allocations?.goTo();
    const sorted = ({ order, reverse, by, images, tree: of }: GraphState): string =>
      JSON.stringify([order, reverse, by, images, of]);
    dock.update([sorted(before) === sorted(this.state) ? 'selection' : 'device']);
    this.setFilter(state.filter);
  }

  get commands(): readonly ViewCommand[] {
    return [
      ...SHARED_COMMANDS,
      ...(['exportSvg', 'exportPng', 'togglePane'] as const),
      ...(this.state.selection === null ? [] : (['clearSelection', 'addBookmark'] as const)),
      ...(this.bookmarks.list.value.length === 0
        ? []
        : (['nextBookmark', 'previousBookmark', 'exportBookmarks'] as const)),
      ...this.parts.dock.panes.map(({ id }) => `pane.${id}` as const),
    ];
  }

  picture(): AskedSvg {
    return this.parts.icicle.svg('icicle');
  }

  keep(part: Partial<GraphState>): void {
    this.state = { ...this.state, ...part };
    this.saveSoon();
  }

  select(selection: HeapSelection | null): void {
    const { frame, inspector, icicle, dock } = this.parts;
    if (selection && !frame.current.panelOpen) frame.set({ panelOpen: true });
    if (sameSelection(selection, this.state.selection)) return;
    this.keep({ selection });
    inspector.show(selection);
    icicle.mark();
    dock.update(['selection']);
  }

  showTree(tree: HeapTree): void {
    if (tree === this.tree.value) return;
    const { icicle, inspector, dock } = this.parts;
    // what was in view is elsewhere then
    this.keep({ tree, ...WHOLE });
    this.tree.value = tree;
    icicle.begin();
    // an object's group is another one
    inspector.show(this.state.selection);
    dock.update(['device']);
  }

  explain(selection: HeapSelection): void {
    const { dock, frame } = this.parts;
    this.select(selection);
    dock.show('why');
    // one above the other there is no room for both
    if (frame.isStacked) frame.set({ panelOpen: false });
  }

  bookmark(selection: HeapSelection | null): void {
    if (selection) this.bookmarks.add(selection);
    else this.say(t('Select a box, a type or an object.'));
  }

  list(filter: string): void {
    this.setFilter(filter);
    this.parts.dock.show('dominators');
  }

  listTypes(filter: string): void {
    this.setFilter(filter);
    this.parts.dock.show('types');
  }

  showStacks(name: string): void {
    this.parts.dock.show('flame');
    this.parts.allocations?.search(name);
  }

  showImages(filter: string): void {
    if (filter !== this.filter) this.setFilter(filter);
    this.parts.dock.show('images');
  }

  setFilter(filter: string): void {
    const { filterBox } = this.parts;
    const text = filter.trim();
    filterBox.show(text);
    this.narrowing.cancel();
    if (text === '') {
      if (this.filter !== '') this.narrowTo(text);
      return;
    }
    // asked first, so that what is wrong with it is said beside it and nothing else goes
    filterBox.waits();
    const asked = this.api.request('memlens/heapTypes', {
      ...{ filter: text, order: 'count', reverse: false, by: 'package', package: null },
      ...{ offset: 0, limit: 1 },
    });
    this.narrowing.ask(filterBox, asked, ({ objects }) => {
      if (text !== this.filter) this.narrowTo(text);
      filterBox.fits(objects, this.info.objects, 'objects');
      if (objects === 0) {
        const matches = this.api.request('memlens/filterMatches', { device: 0, filter: text });
        this.narrowing.explain(filterBox, matches);
      }
    });
  }

  openPlace(file: string, line: number, beside: boolean): void {
    this.api.post({ type: 'openSource', file, line, beside });
  }

  open({ file, line }: LineLink, beside: boolean): void {
    this.openPlace(file, line, beside);
  }

  focusPicture(): void {
    this.parts.icicle.focus();
  }

  showComparison(): void {
    this.parts.dock.show('compare');
  }

  openSource(selection: HeapSelection, beside: boolean): void {
    const open = (object: number | null, kind: number | null): void =>
      this.api.post({ type: 'openObjectSource', object, kind, beside });
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
            if (file !== null && line !== null) this.openPlace(file, line, beside);
            else if (name && located(selection.group).by === 'type') open(null, name.name);
            else if (first) open(first.object, null);
            else this.say(t('The root is not an object of the program.'));
          },
          (error: unknown) => this.failed(error),
        );
    }
  }

  copy(text: string): void {
    this.api.post({ type: 'copy', text });
    this.say(t('Copied'));
  }

  say(text: string): void {
    this.parts.frame.say(text);
  }

  failed(error: unknown): void {
    this.parts.frame.failed(error);
  }

  arrange(): void {
    this.panels.arrange();
    this.saveSoon();
  }

  showEvidence({ pane, of }: Evidence): void {
    this.setFilter(of.filter);
    this.panels.showPane(pane);
  }

  menu(): readonly MenuEntry[] {
    const { dock, frame, summary, icicle } = this.parts;
    const sunburst = {
      ...{ text: t('Export Sunburst as SVG…'), key: '' },
      run: () => {
        savePicture(this.api, 'svg', icicle.svg('sunburst')).catch((error: unknown) => this.failed(error));
      },
    };
    return [
      {
        ...{ text: t('Panel'), key: 'T', checked: dock.shown !== null },
        run: () => this.panels.togglePane(),
      },
      {
        ...{ text: t('Details'), key: 'I', checked: frame.current.panelOpen },
        run: () => this.panels.toggleDetails(),
      },
      null,
      ...icicle.treeEntries(),
      null,
      ...icicle.groupEntries(),
      ...shareEntries(this.api, () => summary.text, t('Icicle'), [sunburst]),
    ];
  }

  /** Shows the objects that a finding is about. */
  readonly showObjects = ({ kind, number, sql }: ObjectsLink): void => {
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
        this.parts.dock.show('threads');
        this.parts.dock.reveal({ thread: number });
        return;
      case 'images':
        // the finding counts those that are reachable
        this.keep({ images: 'freed' });
        this.parts.dock.update(['device']);
        this.showImages('finding:"Equal images"');
        return;
      case 'query':
        this.parts.dock.show('sql');
        this.parts.dock.reveal({ query: sql });
    }
  };

  save(): void {
    this.saveSoon.cancel();
    const { dock, frame } = this.parts;
    const { filter, state: graph, compare } = this;
    this.api.save(
      { model: 'graph', pane: dock.shown, filter, compare: compare.state, graph },
      frame.current,
      this.commands,
    );
  }

  private run(command: ViewCommand): void {
    switch (command) {
      case 'clearSelection':
        this.select(null);
        return;
      case 'addBookmark':
        this.bookmark(this.state.selection);
        return;
      case 'nextBookmark':
      case 'previousBookmark': {
        const next = this.bookmarks.next(this.state.selection, command === 'nextBookmark' ? 1 : -1);
        if (next) this.select(next.place);
        return;
      }
      case 'exportBookmarks':
        this.bookmarks.export();
        return;
      default:
        this.panels.run(command);
    }
  }

  private narrowTo(filter: string): void {
    const { icicle, inspector, dock, recorded } = this.parts;
    this.filter = filter;
    icicle.remark();
    recorded?.renew();
    inspector.show(this.state.selection);
    dock.update(['filter']);
    this.saveSoon();
  }

  /** Shows the objects of what a line of source defines. */
  private showDefinition(file: string, line: number): void {
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

  private act(action: GraphAction): void {
    const { dock, filterBox, help } = this.parts;
    const { selection } = this.state;
    switch (action) {
      case 'explain':
        if (selection && canExplain(selection)) this.explain(selection);
        return;
      case 'toggleDetails':
        this.panels.toggleDetails();
        return;
      case 'filter':
        filterBox.focus();
        return;
      case 'help':
        help.toggle();
        return;
      default: {
        const command = VIEW_COMMANDS.find((each) => each === action);
        if (command) this.run(command);
        else dock.showNth(Number(action.slice('pane'.length)) - 1);
      }
    }
  }
}
