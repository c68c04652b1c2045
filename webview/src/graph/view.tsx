// A heap dump's view: what holds the memory as boxes, the tables below, and what is selected beside them.

import { effect } from '@preact/signals';
import type { VNode } from 'preact';
import type { ViewCommand } from '../../../extension/shared/commands';
import type { ViewState } from '../../../extension/shared/messages';
import type { GraphInfo, HeapFormat } from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { t } from '../base/l10n';
import { baseName } from '../base/paths';
import { visible } from '../base/text';
import { followHeapHeadline } from '../compare/headline';
import { runShared } from '../shell/actions';
import { makeAround, type Around } from '../shell/around';
import { EVERYTHING } from '../shell/context';
import { Dock } from '../shell/dock';
import { savePicture, type AskedSvg } from '../shell/export';
import { OBJECT_TERMS } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { listenForKeys } from '../shell/keyboard';
import { KEYS, type Action } from '../shell/keys';
import { tabsOf, type PaneOf } from '../shell/pane';
import { isOf, keptState } from '../shell/state';
import { shareEntries } from '../shell/share';
import type { SqlContext } from '../sql/queries';
import { sqlPane } from '../sql/tab';
import type { MenuEntry } from '../widgets/menu';
import { Allocations } from './allocations';
import { bookmarksPane } from './bookmarks';
import { ComparePane } from './compare';
import { dominatorsPane } from './dominators';
import { imagesPane } from './gallery';
import { Icicle } from './icicle';
import { Inspector } from './inspector';
import { graphKeys } from './key-list';
import { canExplain } from './menu';
import { Overview } from './overview';
import { Recorded } from './recorded';
import { GraphSession } from './session';
import { threadsPane } from './threads';
import { typesPane } from './types';
import { whyPane } from './why';
import { factsOf, setFormat } from './words';

export class GraphView {
  readonly reported = null;
  readonly session: GraphSession;
  private readonly icicle: Icicle;
  private readonly inspector: Inspector;
  private readonly comparePane: ComparePane;
  readonly dock: Dock;
  readonly around: Around;

  constructor(
    api: Api,
    private readonly root: HTMLElement,
    info: GraphInfo,
    format: HeapFormat,
    hostState: ViewState | null,
  ) {
    const saved = keptState('graph', hostState, api.saved());
    setFormat(format);
    const session = new GraphSession(api, info, format, saved);
    this.session = session;
    this.icicle = new Icicle(session);
    this.inspector = new Inspector(session, this.icicle);
    this.comparePane = new ComparePane(session, session.compare);
    this.dock = this.makeDock();
    this.around = makeAround(session, {
      label: t('Heap dump'),
      terms: OBJECT_TERMS,
      keys: graphKeys(info.allocations !== null),
      next: {
        text: t('Click a box to see why it is alive, or {0}.'),
        link: t('compare with an earlier dump'),
      },
      menu: () => this.menu(),
      focusPicture: () => this.icicle.focus(),
    });
    const { Head, fileBar, help, summary } = this.around;
    const frame = new ViewFrame(root, session, {
      Head,
      Files: fileBar.View,
      Lanes: this.makeLanes(),
      pictures: [this.icicle.View],
      flat: true,
      dock: this.dock,
      Panel: this.inspector.View,
      Help: help.View,
    });
    frame.status.value = visible(factsOf(info));
    listenForKeys(KEYS.graph, help, (action) => this.run(action), session.left);
    session.filtering.write(session.filter);
    this.icicle.begin();
    this.dock.update(EVERYTHING);
    this.dock.restore(saved ? saved.pane : 'types');
    session.begin((changes) => {
      if (changes.has('tree')) this.icicle.begin();
      else if (changes.has('filter')) this.icicle.remark();
      if (changes.has('selection')) this.icicle.mark();
      this.dock.update(changes);
    });
    session.whileShown(effect(() => this.inspector.show()));
    if (session.filter !== '') session.setFilter(session.filter);
    followHeapHeadline(session, (headline) => {
      summary.compared.value = headline;
    });
    summary.turnTo(null);
    summary.find();
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'graph';
  }

  dispose(): void {
    this.around.summary.drop();
    this.icicle.dispose();
    this.session.dispose();
    delete this.root.dataset['model'];
  }

  save(): void {
    this.session.save();
  }

  failed(error: unknown): void {
    this.session.failed(error);
  }

  receive(message: HostMessage): void {
    const { session } = this;
    switch (message.type) {
      case 'showLine':
        session.showDefinition(message.file, message.line);
        return;
      case 'sourceMissing': {
        const { file, lookedFor, advice = '', downloadable = false } = message;
        const text =
          lookedFor.length === 0
            ? t('The dump doesn’t say where {0} is defined.', visible(file))
            : t('{0} was not found.', visible(baseName(file)));
        this.inspector.sourceMissing({ text, lookedFor, advice, downloadable });
        session.failed(new Error(advice === '' ? text : `${text} ${advice}`));
        return;
      }
      case 'other': {
        const wasCompared = session.compare.other !== null;
        session.compare.receive(message.other);
        // the picture is of one dump: what both come to has its room
        if (message.fresh) session.arrange({ dockTall: true });
        else if (message.other === null && wasCompared) session.arrange({ dockTall: false });
        if (message.fresh) session.showComparison();
        return;
      }
      case 'series':
        session.keep({ series: message.dumps.flatMap(({ is, uri }) => (is === 'own' ? [] : [uri])) });
        this.comparePane.series.receive(message.dumps);
        return;
      case 'bookmarks':
        session.bookmarks.renew();
        return;
      case 'file':
        this.around.fileBar.show(message.of, message.state);
        return;
      case 'command':
        this.run(message.command);
        return;
      default:
        return;
    }
  }

  goTo(state: ViewState): void {
    if (!isOf('graph', state)) return;
    const { session, icicle } = this;
    const before = session.state;
    session.goTo(state);
    const { x0, x1, top, grouped, tree } = session.state;
    if (before.tree !== tree) return;
    if (before.grouped === grouped) icicle.goTo({ x0, x1, top });
    else icicle.begin();
  }

  get commands(): readonly ViewCommand[] {
    return this.session.commands.value;
  }

  picture(): AskedSvg {
    return this.icicle.svg('icicle');
  }

  private makeDock(): Dock {
    const { session, comparePane } = this;
    const { info } = session;
    const stacks = session.stacks && info.allocations;
    const panes: readonly PaneOf<GraphSession>[] = [
      typesPane,
      dominatorsPane,
      whyPane,
      ...(stacks ? [new Allocations(session, stacks, session.stacks).pane] : []),
      threadsPane,
      imagesPane,
      { id: 'compare', title: t('Compare'), make: () => comparePane },
      { ...sqlPane, make: () => sqlPane.make(this.sqlContext()) },
      bookmarksPane,
    ];
    const primary = 3 + Number(stacks !== null) + Number(info.threads > 0);
    return new Dock(session, tabsOf(session, panes), primary, () => this.icicle.focus());
  }

  private sqlContext(): SqlContext {
    const { session, comparePane } = this;
    return {
      api: session.api,
      compare: session.compare,
      series: comparePane.series.open,
      timeline: null,
      say: (text) => session.say(text),
      openFrame: (frame, beside) => session.openFrame(frame, beside),
      showObject: (object) => {
        if (object < session.info.objects) session.select({ is: 'object', object });
        else session.say(t('The dump has no such object.'));
      },
      setFilter: (filter) => session.setFilter(filter),
    };
  }

  /** Above the picture: the whole heap in a line, and when it was allocated, where that is known. */
  private makeLanes(): () => VNode {
    const { session } = this;
    const overview = new Overview(session, this.icicle.Controls);
    const recorded = session.info.moments > 0 ? new Recorded(session) : null;
    return () => (
      <>
        <overview.View />
        {recorded && <recorded.View />}
      </>
    );
  }

  private menu(): readonly MenuEntry[] {
    const { dock, session, icicle } = this;
    const { panelOpen } = session.layout.value;
    const sunburst = {
      text: t('Export Sunburst as SVG…'),
      key: '',
      run: () => {
        savePicture(session.api, 'svg', icicle.svg('sunburst')).catch((error: unknown) =>
          session.failed(error),
        );
      },
    };
    return [
      { text: t('Panel'), key: 'T', checked: dock.shown !== null, run: () => dock.toggle() },
      {
        text: t('Details'),
        key: 'I',
        checked: panelOpen,
        run: () => session.arrange({ panelOpen: !panelOpen }),
      },
      null,
      ...icicle.treeEntries(),
      null,
      ...icicle.groupEntries(),
      ...shareEntries(session.api, () => this.around.summary.text, t('Icicle'), [sunburst]),
    ];
  }

  private run(action: Action): void {
    const { session } = this;
    const { selection } = session.state;
    switch (action) {
      case 'explain':
        if (selection && canExplain(selection)) session.explain(selection);
        return;
      case 'clearSelection':
        session.select(null);
        return;
      case 'addBookmark':
        session.bookmark(selection);
        return;
      case 'nextBookmark':
      case 'previousBookmark': {
        const next = session.bookmarks.next(selection, action === 'nextBookmark' ? 1 : -1);
        if (next) session.select(next.place);
        return;
      }
      case 'exportBookmarks':
        session.bookmarks.export();
        return;
      default:
        runShared(action, this);
    }
  }
}
