// A heap dump's view: what holds the memory as boxes, the tables below, and what is selected beside them.

import { signal } from '@preact/signals';
import type {
  GraphState,
  HeapSelection,
  PaneId,
  ViewCommand,
  ViewState,
} from '../../../extension/shared/messages';
import type { Evidence, GraphInfo, ObjectsLink } from '../../../extension/shared/protocol.gen';
import { RequestError, type Api, type HostMessage, type Pending } from '../api';
import { Colours } from '../canvas/palette';
import { SHARED_COMMANDS } from '../timeline/commands';
import { Compare, restoreCompare } from '../compare/comparison';
import { EVERYTHING, type Change } from '../shell/context';
import { savePicture, type AskedSvg } from '../shell/export';
import { findingTerms, OBJECT_TERMS } from '../shell/filter-terms';
import { isWritten } from '../shell/keyboard';
import { sqlTab } from '../shell/panes';
import { made, type PaneTab } from '../shell/pane';
import { restoreLayout } from '../shell/state';
import { Dock } from '../shell/dock';
import { ViewFrame } from '../shell/frame';
import { makeHead, type Head } from '../shell/head';
import type { MenuEntry } from '../widgets/menu';
import { saver } from '../shell/saver';
import { shareEntries } from '../shell/share';
import { Summary } from '../shell/summary';
import { comparing, type Picker } from '../shell/toolbar';
import { element, setText } from '../widgets/dom';
import { FileBar } from '../shell/file-bar';
import { FilterBox } from '../shell/filter-box';
import { count, counted } from '../base/format';
import { graphKeys, Help } from '../shell/help';
import { t } from '../base/l10n';
import { baseName } from '../base/paths';
import { watchTheme, type Theme } from '../canvas/theme';
import { comparePane, type ComparePane } from './compare';
import { sameSelection, type GraphContext } from './context';
import { dominatorsPane } from './dominators';
import { Icicle } from './icicle';
import { Inspector } from './inspector';
import { Overview } from './overview';
import { restoreGraph } from './state';
import { typesPane } from './types';
import { whyPane } from './why';

export class GraphView implements GraphContext {
  filter = '';
  state: GraphState;
  readonly reported = null;
  private readonly colours = new Colours([], 'stack');
  private readonly icicle: Icicle;
  private readonly inspector: Inspector;
  private readonly compare: Compare;
  private readonly comparedWith = signal<string | null>(null);
  private readonly comparePane: ComparePane;
  private readonly overview: Overview;
  private readonly dock: Dock;
  private readonly head: Head;
  private readonly summary: Summary;
  private readonly help = new Help(graphKeys());
  private readonly filterBox: FilterBox;
  private readonly fileBar: FileBar;
  private readonly frame: ViewFrame;
  private readonly stop = new AbortController();
  private lastPane: PaneId = 'types';
  /** Whether the latest filter is one. */
  private asking: Pending<unknown> | null = null;
  private readonly saveSoon = saver(() => {
    this.save();
  }, this.stop.signal);

  constructor(
    readonly api: Api,
    private readonly root: HTMLElement,
    readonly info: GraphInfo,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const state = hostState ?? saved?.view ?? null;
    this.state = restoreGraph(info, state?.graph ?? null);
    this.compare = new Compare(
      api,
      baseName(info.path),
      restoreCompare(state?.compare),
      () => {
        this.comparedWith.value = this.compare.other?.name ?? null;
        this.changed('compare');
        this.saveSoon();
      },
      { model: 'graph' },
    );
    this.comparePane = comparePane(this, this.compare);
    this.icicle = new Icicle(this);
    this.inspector = new Inspector(this, {
      close: () => {
        this.frame.set({ panelOpen: false });
        this.icicle.focus();
      },
    });
    this.dock = new Dock(
      null,
      {
        shown: () => {
          this.arrange();
        },
        toggleTall: () => {
          this.frame.set({ dockTall: !this.frame.current.dockTall });
        },
        failed: (error) => {
          this.failed(error);
        },
      },
      [
        made(typesPane(this)),
        made(dominatorsPane(this)),
        made(whyPane(this)),
        made(this.comparePane),
        this.sql(),
      ],
    );
    this.filterBox = new FilterBox(
      OBJECT_TERMS,
      {
        apply: (text) => {
          this.setFilter(text);
        },
        leave: () => {
          this.icicle.focus();
        },
      },
      () => findingTerms((this.summary.findings.value ?? []).map(({ title }) => title)),
    );
    this.summary = new Summary(api, info.warnings, (error) => {
      this.failed(error);
    });
    this.overview = new Overview(api, {
      choose: (text) => {
        this.setFilter(text);
        this.dock.show('dominators');
      },
      failed: (error) => {
        this.failed(error);
      },
    });
    this.head = makeHead(
      {
        summary: this.summary,
        actions: {
          open: ({ file, line }, beside) => {
            this.openPlace(file, line, beside);
          },
          show: (evidence) => {
            this.show(evidence);
          },
          showObjects: (objects) => {
            this.showObjects(objects);
          },
          copy: (text) => {
            this.copy(text);
          },
        },
      },
      {
        ...{
          label: 'Heap dump',
          pickers: signal<readonly Picker[]>([]),
          comparedWith: this.comparedWith,
        },
        filter: this.filterBox.root,
        ...comparing(api, () => {
          this.dock.show('compare');
        }),
        more: () => this.moreMenu(),
        help: () => {
          this.help.toggle();
        },
      },
    );
    this.fileBar = new FileBar(api, () => this.compare.other?.name ?? '');
    const hidden = (): HTMLElement => element('div', { hidden: true });
    const layout = restoreLayout(saved?.layout);
    this.frame = new ViewFrame(
      root,
      {
        head: this.head.root,
        minimap: hidden(),
        pictures: [this.icicle.root],
        dock: this.dock.root,
        panel: this.inspector.root,
        tooltip: hidden(),
        help: this.help.root,
      },
      { ...layout, panelOpen: this.state.selection !== null && saved?.layout.panelOpen !== false },
      () => {
        this.arrange();
      },
      () => {
        api.post({ type: 'showLog' });
      },
    );
    this.frame.lanes.append(this.overview.root);
    this.icicle.root.parentElement?.classList.add('profile-picture');
    this.frame.files.append(this.fileBar.root);
    watchTheme(this.stop.signal, () => {
      this.colours.refresh();
      this.icicle.setTheme();
      this.dock.update(['theme']);
    });
    window.addEventListener(
      'keydown',
      (event) => {
        if (this.key(event)) event.preventDefault();
      },
      { signal: this.stop.signal },
    );
    setText(this.frame.status, facts(info));
    this.filter = state?.filter.trim() ?? '';
    this.filterBox.show(this.filter);
    this.arrange();
    this.icicle.setTheme();
    this.icicle.begin();
    this.dock.update(EVERYTHING);
    this.dock.show(state ? (this.dock.panes.find(({ id }) => id === state.pane)?.id ?? null) : 'types');
    if (this.state.selection) this.inspector.show(this.state.selection);
    if (this.filter !== '') this.setFilter(this.filter);
    this.summary.turnTo(null);
    this.summary.find();
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'graph';
  }

  get theme(): Theme {
    return this.colours.theme;
  }

  dispose(): void {
    this.saveSoon.flush();
    this.stop.abort();
    this.dock.dispose();
    this.head.dispose();
    this.icicle.dispose();
    this.inspector.dispose();
    this.overview.dispose();
    delete this.root.dataset['model'];
  }

  receive(message: HostMessage): void {
    switch (message.type) {
      case 'showLine':
        this.showDefinition(message.file, message.line);
        return;
      case 'sourceMissing':
        this.failed(
          new Error(
            message.lookedFor === ''
              ? t('The dump doesn’t say where {0} is defined.', message.file)
              : t('{0} was not found. Memlens looked for {1}.', baseName(message.file), message.lookedFor),
          ),
        );
        return;
      case 'other':
        this.compare.receive(message.other, 0);
        if (message.fresh) this.dock.show('compare');
        return;
      case 'series':
        this.keep({ series: message.dumps.flatMap(({ is, uri }) => (is === 'own' ? [] : [uri])) });
        this.comparePane.series.receive(message.dumps);
        return;
      case 'file':
        this.fileBar.show(message.of, message.state);
        return;
      case 'command':
        if (message.command.startsWith('pane.')) this.showPane(message.command.slice('pane.'.length));
        else if (message.command === 'togglePane') this.toggleDock();
        else if (message.command === 'clearSelection') this.select(null);
        return;
      default:
        return;
    }
  }

  /** Shows a place of before. */
  goTo(state: ViewState): void {
    const before = this.state;
    this.state = restoreGraph(this.info, state.graph);
    const { x0, x1, top, selection } = this.state;
    this.icicle.goTo({ x0, x1, top });
    if (!sameSelection(before.selection, selection)) {
      this.inspector.show(selection);
      this.icicle.mark();
    }
    if (selection && !this.frame.current.panelOpen) this.frame.set({ panelOpen: true });
    this.dock.show(this.dock.panes.find(({ id }) => id === state.pane)?.id ?? null);
    const { order, reverse, by } = before;
    const sorted = JSON.stringify([order, reverse, by]);
    const isSame = sorted === JSON.stringify([this.state.order, this.state.reverse, this.state.by]);
    this.changed(isSame ? 'selection' : 'device');
    this.setFilter(state.filter);
  }

  get commands(): readonly ViewCommand[] {
    return [
      ...SHARED_COMMANDS,
      ...(['exportSvg', 'exportPng', 'togglePane'] as const),
      ...(this.state.selection === null ? [] : (['clearSelection'] as const)),
      ...this.dock.panes.map(({ id }) => `pane.${id}` as const),
    ];
  }

  picture(): AskedSvg {
    return this.icicle.svg('icicle');
  }

  keep(part: Partial<GraphState>): void {
    this.state = { ...this.state, ...part };
    this.saveSoon();
  }

  select(selection: HeapSelection | null): void {
    if (selection && !this.frame.current.panelOpen) this.frame.set({ panelOpen: true });
    if (sameSelection(selection, this.state.selection)) return;
    this.keep({ selection });
    this.inspector.show(selection);
    this.icicle.mark();
    this.dock.update(['selection']);
  }

  explain(selection: HeapSelection): void {
    this.select(selection);
    this.dock.show('why');
  }

  list(filter: string): void {
    this.setFilter(filter);
    this.dock.show('dominators');
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    this.filterBox.show(text);
    this.asking?.cancel();
    this.asking = null;
    if (text === '') {
      if (this.filter !== '') this.narrowTo(text);
      return;
    }
    // asked first, so that what is wrong with it is said beside it and nothing else goes
    const page = { offset: 0, limit: 1 };
    const asking = this.api.request('memlens/heapTypes', {
      ...{ filter: text, order: 'count', reverse: false, by: 'package', package: null, ...page },
    });
    this.asking = asking;
    asking.answer.then(
      ({ objects }) => {
        if (text !== this.filter) this.narrowTo(text);
        this.filterBox.fits(objects, this.info.objects, 'objects');
      },
      (error: unknown) => {
        if (!(error instanceof RequestError)) this.failed(error);
        else if (error.problem.code !== 'cancelled')
          this.filterBox.fails([error.problem.message, error.problem.advice].filter(Boolean).join('. '));
      },
    );
  }

  openPlace(file: string, line: number, beside: boolean): void {
    this.api.post({ type: 'openSource', file, line, beside });
  }

  openSource(selection: HeapSelection, beside: boolean): void {
    const open = (object: number | null, kind: number | null): void => {
      this.api.post({ type: 'openObjectSource', object, kind, beside });
    };
    switch (selection.is) {
      case 'object':
        open(selection.object, null);
        return;
      case 'type':
        open(null, selection.kind);
        return;
      case 'group':
        this.api.request('memlens/heapGroup', { node: selection.group, filter: '' }).answer.then(
          ({ name }) => {
            if (name) open(null, name.name);
            else this.say('The root is no object of the program.');
          },
          (error: unknown) => {
            this.failed(error);
          },
        );
    }
  }

  menu(selection: HeapSelection, text: string): readonly MenuEntry[] {
    return [
      {
        ...{ text: 'Why Alive', key: '' },
        run: () => {
          this.explain(selection);
        },
      },
      {
        ...{ text: 'Show Details', key: '' },
        run: () => {
          this.select(selection);
        },
      },
      {
        ...{ text: 'Open Source', key: '' },
        run: () => {
          this.openSource(selection, false);
        },
      },
      null,
      {
        ...{ text: 'Copy Name', key: '', disabled: text === '' },
        run: () => {
          this.copy(text);
        },
      },
      ...(selection.is === 'type'
        ? [
            {
              ...{ text: 'Filter by Type', key: '' },
              run: () => {
                this.setFilter(`type:"=${text.replace(/["\\]/g, '\\$&')}"`);
              },
            },
          ]
        : []),
    ];
  }

  copy(text: string): void {
    this.api.post({ type: 'copy', text });
    this.say('Copied');
  }

  say(text: string): void {
    this.frame.say(text);
  }

  failed(error: unknown): void {
    this.frame.failed(error);
  }

  private sql(): PaneTab {
    const none = (): void => {
      this.say('A heap dump has no such rows.');
    };
    return sqlTab({
      api: this.api,
      say: (text) => {
        this.say(text);
      },
      openFrame: ({ file, line }, beside) => {
        this.openPlace(file, line, beside);
      },
      select: none,
      lightStacks: none,
      showObject: (object) => {
        if (object < this.info.objects) this.select({ is: 'object', object });
        else none();
      },
    });
  }

  private narrowTo(filter: string): void {
    this.filter = filter;
    this.icicle.remark();
    this.inspector.show(this.state.selection);
    this.changed('filter');
    this.saveSoon();
  }

  private changed(...changes: readonly Change[]): void {
    this.dock.update(changes);
  }

  private arrange(): void {
    const pane = this.dock.shown;
    if (pane !== null) this.lastPane = pane;
    this.frame.apply(pane !== null);
    this.dock.setTall(this.frame.current.dockTall);
    this.saveSoon();
  }

  private moreMenu(): readonly MenuEntry[] {
    return [
      {
        ...{ text: 'Panel', key: 'T', checked: this.dock.shown !== null },
        run: () => {
          this.toggleDock();
        },
      },
      {
        ...{ text: 'Details', key: 'I', checked: this.frame.current.panelOpen },
        run: () => {
          this.toggleDetails();
        },
      },
      ...shareEntries(this.api, () => this.summary.text, 'Icicle'),
      {
        ...{ text: 'Export Sunburst as SVG…', key: '' },
        run: () => {
          savePicture(this.api, 'svg', this.icicle.svg('sunburst')).catch((error: unknown) => {
            this.failed(error);
          });
        },
      },
    ];
  }

  /** Shows the objects of what a line of source defines. */
  private showDefinition(file: string, line: number): void {
    this.api.request('memlens/heapAt', { file, line }).answer.then(
      ({ type, filter }) => {
        if (type !== null) this.select({ is: 'type', kind: type });
        else if (filter !== null) this.list(filter);
        else this.say(`The dump has no objects of what ${baseName(file)}:${line} defines.`);
      },
      (error: unknown) => {
        this.failed(error);
      },
    );
  }

  /** Shows the evidence of a sentence. */
  private show({ pane, of }: Evidence): void {
    this.setFilter(of.filter);
    this.showPane(pane);
  }

  /** Shows the objects that a finding is about. */
  private showObjects({ kind, number, sql }: ObjectsLink): void {
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
      case 'query':
        this.dock.show('sql');
        this.dock.reveal({ query: sql });
    }
  }

  private showPane(id: string): void {
    if (id === 'flame') this.icicle.focus();
    else this.dock.show(this.dock.panes.find((pane) => pane.id === id)?.id ?? 'types');
  }

  private toggleDock(): void {
    this.dock.show(this.dock.shown === null ? this.lastPane : null);
  }

  private toggleDetails(): void {
    this.frame.set({ panelOpen: !this.frame.current.panelOpen });
  }

  private key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
    if (isWritten(event.target)) return false;
    if (event.target instanceof Element && event.target.closest('select, .settings-slot')) return false;
    const { selection } = this.state;
    if (event.key === 't') this.toggleDock();
    else if (event.key === 'i') this.toggleDetails();
    else if (event.key === 'w' && selection) this.explain(selection);
    else if (event.key === '/') this.filterBox.focus();
    else if (event.key === '?') this.help.toggle();
    else if (/^[1-9]$/.test(event.key)) this.dock.showNth(Number(event.key) - 1);
    else return false;
    return true;
  }

  save(): void {
    this.saveSoon.cancel();
    const view: ViewState = {
      ...{ device: 0, axis: 'event', x0: 0, x1: 1, y0: 0, y1: 1, selection: null, colour: 'stack' },
      ...{ areas: 'line', holdHeight: false, picture: 'stacked', scope: 'peak', kind: 'live' },
      ...{ first: null, second: null, compare: this.compare.state, flame: null, value: null },
      ...{ pane: this.dock.shown, filter: this.filter, graph: this.state },
    };
    this.api.save(view, this.frame.current, this.commands);
  }
}

function facts({ kind, objects, references, types, roots, count_multiplier: each }: GraphInfo): string {
  const parts = [
    `${kind}, ${counted(objects, 'object')} of ${counted(types, 'type')}`,
    counted(references, 'reference'),
    counted(roots, 'root'),
  ];
  if (each > 1) parts.push(`sampled: one object stands for ${count(Math.round(each))}`);
  return parts.join('  ·  ');
}
