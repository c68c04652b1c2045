// What a heap dump's view is made of, put together.

import type { VNode } from 'preact';
import { t } from '../base/l10n';
import type { Compare } from '../compare/comparison';
import { makeAround, type Around, type AroundOwner } from '../shell/around';
import { Dock } from '../shell/dock';
import { OBJECT_TERMS } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { graphKeys } from './key-list';
import { made, type PaneTab } from '../shell/pane';
import { sqlTab } from '../sql/tab';
import { restoreLayout } from '../shell/state';
import type { Layout } from '../base/saved';
import { Allocations } from './allocations';
import { bookmarksPane } from './bookmarks';
import { ComparePane } from './compare';
import type { SeriesPart } from './series';
import type { GraphContext } from './context';
import { dominatorsPane } from './dominators';
import { imagesPane } from './gallery';
import { Icicle } from './icicle';
import { Inspector } from './inspector';
import { Overview } from './overview';
import { Recorded } from './recorded';
import { threadsPane } from './threads';
import { typesPane } from './types';
import { whyPane } from './why';

export interface GraphParts extends Omit<Around, 'Head' | 'pickers'> {
  readonly icicle: Icicle;
  readonly inspector: Inspector;
  readonly overview: Overview;
  /** Null where it isn't known when objects were allocated. */
  readonly recorded: Recorded | null;
  readonly comparePane: ComparePane;
  /** Null where it isn't known which stacks allocated the objects. */
  readonly allocations: Allocations | null;
  readonly dock: Dock;
  readonly frame: ViewFrame;
}

export interface PartsOwner extends GraphContext, Omit<AroundOwner, 'showObjects'> {
  /** Panes came or went, or have other room. */
  arrange(): void;
}

interface Given {
  readonly root: HTMLElement;
  readonly compare: Compare;
  readonly layout: Layout | undefined;
}

export function makeParts(owner: PartsOwner, { root, compare, layout }: Given): GraphParts {
  const { api, info } = owner;
  const failed = (error: unknown): void => owner.failed(error);
  // an object's group is another one then
  const icicle = new Icicle(owner, () => inspector.show(owner.state.selection));
  const inspector: Inspector = new Inspector(
    owner,
    () => {
      frame.set({ panelOpen: false });
      icicle.focus();
    },
    (group) => icicle.outline(group),
  );
  const overview = new Overview(
    api,
    { choose: (text) => owner.list(text), failed },
    info.native_bytes,
    icicle.Controls,
  );
  const recorded = info.moments > 0 ? new Recorded(api, owner) : null;
  const comparePane = new ComparePane(owner, compare);
  const allocations = info.allocations && new Allocations(owner, info.allocations);
  const dock = new Dock(
    null,
    {
      shown: () => owner.arrange(),
      toggleTall: () => frame.set({ dockTall: !frame.current.dockTall }),
      failed,
    },
    [
      ...[typesPane(owner), dominatorsPane(owner), whyPane(owner)].map(made),
      ...(allocations ? [allocations.tab] : []),
      ...(info.threads > 0 ? [made(threadsPane(owner))] : []),
      ...(info.image_types.length > 0 ? [made(imagesPane(owner))] : []),
      made(comparePane),
      sqlPane(owner, compare, comparePane.series),
      bookmarksPane(owner),
    ],
    3 + Number(allocations !== null) + Number(info.threads > 0),
  );
  const { Head, ...around } = makeAround(api, info, owner, {
    ...{ label: t('Heap dump'), terms: OBJECT_TERMS, keys: graphKeys(allocations !== null) },
    next: {
      text: t('Click a box to see why it is alive, or {0}.'),
      link: t('compare with an earlier dump'),
    },
  });
  const frame = new ViewFrame(
    root,
    {
      ...{
        Head,
        Files: around.fileBar.View,
        Lanes: recorded ? lanesOf(overview, recorded) : overview.View,
        pictures: [icicle.View],
        flat: true,
        dock,
      },
      ...{ Panel: inspector.View, Help: around.help.View },
    },
    {
      ...restoreLayout(layout),
      panelOpen: owner.state.selection !== null && layout?.panelOpen !== false,
    },
    () => owner.arrange(),
    () => api.post({ type: 'showLog' }),
  );
  return { ...around, icicle, inspector, overview, recorded, comparePane, allocations, dock, frame };
}

function sqlPane(owner: GraphContext, compare: Compare, series: SeriesPart): PaneTab {
  return sqlTab({
    ...{ api: owner.api, compare, series: series.open },
    say: (text) => owner.say(text),
    openFrame: ({ file, line }, beside) => owner.openPlace(file, line, beside),
    timeline: null,
    showObject: (object) => {
      if (object < owner.info.objects) owner.select({ is: 'object', object });
      else owner.say(t('The dump has no such object.'));
    },
    setFilter: (filter) => owner.setFilter(filter),
  });
}

function lanesOf(overview: Overview, recorded: Recorded): () => VNode {
  return () => (
    <>
      <overview.View />
      <recorded.View />
    </>
  );
}
