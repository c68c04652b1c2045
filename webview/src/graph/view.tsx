// A heap dump's view: what holds the memory as boxes, the tables below, and what is selected beside them.

import { effect } from '@preact/signals';
import type { VNode } from 'preact';
import type { ViewState } from '../../../extension/shared/messages';
import type { GraphInfo, HeapFormat } from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { t } from '../base/l10n';
import { baseName } from '../base/paths';
import { visible } from '../base/text';
import { followHeapHeadline } from '../compare/headline';
import { makeAround, type Around } from '../shell/around';
import { EVERYTHING, type Change } from '../shell/context';
import { Dock } from '../shell/dock';
import { savePicture, type AskedSvg } from '../shell/export';
import { OBJECT_TERMS } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { tabsOf } from '../shell/pane';
import { isOf, keptState } from '../shell/state';
import { shareEntries } from '../shell/share';
import { ModelView } from '../shell/view';
import type { MenuEntry } from '../widgets/menu';
import { GRAPH_COMMANDS } from './commands';
import { Icicle } from './icicle';
import { Inspector } from './inspector';
import { graphKeys } from './key-list';
import { Overview } from './overview';
import { PANES } from './panes.gen';
import { Recorded } from './recorded';
import { GraphSession } from './session';
import { factsOf, setFormat } from './words';

export class GraphView extends ModelView<GraphSession> {
  readonly reported = null;
  private readonly icicle: Icicle;
  private readonly inspector: Inspector;
  readonly dock: Dock;
  readonly around: Around;

  constructor(api: Api, root: HTMLElement, info: GraphInfo, format: HeapFormat, hostState: ViewState | null) {
    const saved = keptState('graph', hostState, api.saved());
    setFormat(format);
    super(new GraphSession(api, info, format, saved), root, GRAPH_COMMANDS);
    const { session } = this;
    this.icicle = new Icicle(session);
    this.inspector = new Inspector(session, this.icicle);
    this.dock = new Dock(session, tabsOf(session, PANES), () => this.icicle.focus());
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
    session.filtering.write(session.filter);
    this.icicle.begin();
    this.dock.update(EVERYTHING);
    this.dock.restore(saved ? saved.pane : 'types');
    this.begin();
    session.whileShown(effect(() => this.inspector.show()));
    if (session.filter !== '') session.setFilter(session.filter);
    followHeapHeadline(session, (headline) => {
      summary.compared.value = headline;
    });
    this.show();
  }

  protected override update(changes: ReadonlySet<Change>): void {
    if (changes.has('tree')) this.icicle.begin();
    else if (changes.has('filter')) this.icicle.remark();
    if (changes.has('selection')) this.icicle.mark();
    this.dock.update(changes);
  }

  override dispose(): void {
    this.icicle.dispose();
    super.dispose();
  }

  protected override heed(message: HostMessage): void {
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
        session.dumps.value = message.dumps;
        return;
      case 'bookmarks':
        session.bookmarks.renew();
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

  picture(): AskedSvg {
    return this.icicle.svg('icicle');
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
}
