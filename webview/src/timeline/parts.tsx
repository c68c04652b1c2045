// Makes the view's parts and connects them; what they report goes to the view that owns them.

import { t } from '../base/l10n';
import { signal, type Signal } from '@preact/signals';
import type { Geometry } from '../../../extension/shared/geometry';
import type { PictureId } from '../../../extension/shared/messages';
import type {
  HitAnswer,
  LineAnswer,
  StackAnswer,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { Pending } from '../base/request';
import { AreaLegend } from './area-legend';
import { Bookmarks } from './bookmarks';
import { BookmarkTour } from './bookmark-tour';
import { BackdropData } from './backdrop-data';
import { Cursors } from './cursors';
import { DeviceData } from './device-data';
import { both, traceTerms } from '../shell/filter-terms';
import { Flags } from './flags';
import { gestures, type Gestured } from './gestures';
import { Hover } from './hover';
import { Lanes } from './lanes';
import type { Action } from '../shell/keys';
import { PointerInput } from './input/pointer';
import { PICTURES } from './pictures';
import type { Picture } from './pictures/picture';
import { listenForMenu } from './picture-menu';
import { Plot } from './plot';
import type { Camera } from '../canvas/camera';
import { Names } from '../base/names';
import type { Layout } from '../base/saved';
import { Selection } from './selection';
import { TIMELINE_PANES } from './panes';
import { bookmarksPane } from './panes/bookmarks';
import { tabsOf } from '../shell/pane';
import { makeAround, type Around, type AroundOwner } from '../shell/around';
import { Dock } from '../shell/dock';
import { ViewFrame } from '../shell/frame';
import { ScopeBar } from './scope';
import { SharedContext, type ContextOwner } from './shared-context';
import { hasHistory } from '../base/devices';
import { bandTexts } from '../base/format';
import { timelineKeys } from './key-list';
import { Minimap } from './minimap';
import { Panel } from './panel';
import { HoverCard } from '../widgets/hover-card';
import { Island } from '../widgets/island';
import { Legend as Categories, type LegendProps } from '../widgets/legend';
import { TooltipCard } from './tooltip';

/** What the parts ask of the view, and report to it. */
export interface PartsOwner extends Pick<Gestured, 'boxUsed'>, AroundOwner, ContextOwner {
  run(action: Action): void;
  cursorsChanged(): void;
  /** What is marked on the axis. */
  flagsKnown(): void;
  /** What the picture is measured against. */
  backdropKnown(): void;
  moved(camera: Camera): void;
  drawn(geometry: Geometry): void;
  waiting(sizeBytes: number | null): void;
  shown(answer: StackAnswer): void;
  lineShown(answer: LineAnswer): void;
  refreshed(): void;
  cleared(): void;
  rearranged(): void;
  /** Another moment is under the pointer. */
  columnShown(): void;
}

export interface Parts extends Omit<Around, 'Head'> {
  readonly names: Names;
  readonly plot: Plot;
  readonly minimap: Minimap;
  readonly panel: Panel;
  readonly dock: Dock;
  /** Those that replace the stacked picture, and which picture is shown. */
  readonly pictures: readonly Picture[];
  readonly picture: Signal<PictureId>;
  readonly context: SharedContext;
  readonly cursors: Cursors;
  readonly scope: ScopeBar;
  readonly flags: Flags;
  readonly bookmarks: Bookmarks;
  readonly tour: BookmarkTour;
  readonly lanes: Lanes;
  readonly legend: AreaLegend;
  /** The categories' names beside their colours; null where those are of something else. */
  readonly categories: Signal<LegendProps | null>;
  readonly data: DeviceData;
  readonly backdrop: BackdropData;
  readonly selection: Selection;
  readonly hover: Hover;
  readonly pointer: PointerInput;
  readonly frame: ViewFrame;
}

export function makeParts(
  api: Api,
  root: HTMLElement,
  info: TimelineInfo,
  layout: Layout,
  owner: PartsOwner,
): Parts {
  const names = new Names();
  const tooltip = new HoverCard(TooltipCard);
  const { Head, ...around } = makeAround(api, info, owner, {
    ...{ label: t('Timeline'), terms: traceTerms(info.categories), keys: timelineKeys() },
    next: {
      text: info.devices.some(hasHistory)
        ? t('Click an area to see its allocations and their stacks, or {0}.')
        : t(
            'To see memory over time, call torch.cuda.memory._record_memory_history() before the work, or {0}.',
          ),
      link: t('compare with another snapshot'),
    },
  });
  // Set by tests and the bench; the host does not.
  const { prefer } = root.dataset;
  const renderer = prefer === 'webgl2' || prefer === 'canvas2d' ? prefer : 'auto';
  const plot = new Plot(
    {
      ask: (request) =>
        api.request('memlens/viewport', {
          device: owner.device.device,
          axis: owner.axis,
          filter: owner.filter,
          ...request,
        }),
      moved: (camera) => owner.moved(camera),
      drawn: (geometry) => owner.drawn(geometry),
      failed: (error) => owner.failed(error),
      busy: (busy) => {
        frame.busy.value = busy;
      },
      rendererChanged: () => {
        root.dataset['renderer'] = plot.rendererKind;
      },
      textsOf: (geometry, band) => {
        const known = names.allocation(geometry.allocation[band] ?? -1);
        return bandTexts(geometry.size[band] ?? 0, known ?? names.stack(geometry.stack[band] ?? -1));
      },
    },
    renderer,
  );
  const minimap = new Minimap((camera, glide) => plot.moveTo(camera, glide));
  const run = (action: Action): void => owner.run(action);
  const panel = new Panel({
    run,
    open: (source, beside) => owner.sources.open(source, beside),
    copy: (text) => api.post({ type: 'copy', text }),
    locate: (what, file, line) => api.post({ type: 'locate', what, file, line }),
    select: (allocation) => selection.select(allocation, null, true),
    narrow: (term) => owner.setFilter(both(owner.filter, term)),
  });
  const data = new DeviceData(api, names, {
    overview: (answer) => minimap.setOverview(answer),
    named: () => plot.renamed(),
    failed: (error) => owner.failed(error),
    filter: () => owner.filter,
  });
  const backdrop = new BackdropData(api, (known) => {
    plot.setBackdrop(known);
    minimap.setWhole(known.whole);
    owner.backdropKnown();
  });
  const selection = new Selection({
    api,
    plot,
    names,
    axis: () => owner.axis,
    device: () => owner.device.device,
    filter: () => owner.filter,
    switchDevice: (device) => owner.switchDevice(device),
    waiting: (sizeBytes) => owner.waiting(sizeBytes),
    shown: (answer) => owner.shown(answer),
    lineShown: (answer) => owner.lineShown(answer),
    refreshed: () => owner.refreshed(),
    cleared: () => owner.cleared(),
    failed: (message, advice) => {
      panel.showProblem(message, advice);
      owner.say(message);
    },
    say: (text) => owner.say(text),
  });
  const cursors = new Cursors(api, {
    changed: () => owner.cursorsChanged(),
    failed: (error) => owner.failed(error),
    filter: () => owner.filter,
  });
  const flagsKnown = (): void => owner.flagsKnown();
  const failed = (error: unknown): void => owner.failed(error);
  const bookmarks = new Bookmarks(api, info, { changed: flagsKnown, failed });
  const tour = new BookmarkTour({ api, bookmarks, cursors, plot, selection }, owner);
  const flags = new Flags(api, info, flagsKnown, failed, bookmarks);
  const hitAt = (moment: number, y_bytes: number): Pending<HitAnswer> =>
    api.request('memlens/hit', {
      device: owner.device.device,
      moment,
      y_bytes,
      filter: owner.filter,
      areas: plot.grouped,
    });
  const hover = new Hover({
    api,
    plot,
    names,
    tooltip,
    device: () => owner.device,
    axis: () => owner.axis,
    palette: () => owner.colours.palette,
    categories: info.categories,
    askThere: hitAt,
    columnShown: () => owner.columnShown(),
  });
  const pointer = new PointerInput(
    plot.surface,
    gestures({
      plot,
      selection,
      hoverAt: (at) => hover.move(at),
      picked: (moment) => cursors.place(moment),
      extended: (moment) => cursors.extendTo(moment),
      spanned: (from, to) => cursors.span(from, to),
      openLabel: (allocation) => owner.sources.openLabel(allocation),
      boxUsed: () => owner.boxUsed(),
    }),
  );
  listenForMenu(plot, api, {
    get filter(): string {
      return owner.filter;
    },
    ask: hitAt,
    select: (allocation, moment) => {
      cursors.place(moment);
      selection.select(allocation, moment, false);
    },
    zoomTo: (allocation) => {
      selection.select(allocation, null, false);
      selection.zoomTo();
    },
    open: (allocation) => owner.sources.openLabel(allocation),
    setFilter: (filter) => owner.setFilter(filter),
    leaveOut: (term, name) => owner.whatIf.add(term, name),
    place: (moment) => cursors.place(moment),
    bookmark: (moment) => tour.add(moment),
    run,
    failed: (error) => owner.failed(error),
  });
  const used = { names, plot, selection, cursors, flags, prefer: renderer } as const;
  const context = new SharedContext(api, info, used, owner);
  const pictures = PICTURES.flatMap((make) => make(context) ?? []);
  const picture = signal<PictureId>('stacked');
  const scope = new ScopeBar(cursors, () => context.setName);
  const dock = new Dock(
    scope.View,
    {
      shown: () => owner.rearranged(),
      toggleTall: () => run('toggleTall'),
      failed: (error) => owner.failed(error),
    },
    tabsOf(context, [...TIMELINE_PANES, bookmarksPane(tour)]),
  );
  const lanes = new Lanes(context);
  const legend = new AreaLegend({
    pointed: (key) => plot.setHint(key === null ? null : { kind: 'area', key }),
    picked: (key) => selection.lightArea(key),
  });
  const categories = signal<LegendProps | null>(null);
  const frame = new ViewFrame(
    root,
    {
      Head,
      ...{ Files: around.fileBar.View, Minimap: minimap.View, Lanes: lanes.View, Areas: legend.View, dock },
      pictures: [
        () => <Island of={plot.root} />,
        ...pictures.map(({ id, View }) => () => <View hidden={picture.value !== id} />),
      ],
      ...{ Panel: panel.View, Help: around.help.View },
      Legend: () => categories.value && Categories(categories.value),
      Tooltip: () => <Island of={tooltip.root} />,
    },
    layout,
    () => owner.rearranged(),
    () => api.post({ type: 'showLog' }),
  );
  return {
    ...around,
    ...{ names, plot, minimap, panel, data, backdrop },
    ...{
      selection,
      cursors,
      scope,
      flags,
      bookmarks,
      tour,
      hover,
      pointer,
      frame,
      dock,
      pictures,
      picture,
      context,
      lanes,
      legend,
      categories,
    },
  };
}
