// A trace's view: its parts, and what each of them follows.

import type { Geometry } from '../../../extension/shared/geometry';
import type { Action } from '../../../extension/shared/commands';
import type { ViewState } from '../../../extension/shared/messages';
import type { HitAnswer, TimelineInfo } from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { using } from '../base/follow';
import { hasHistory } from '../base/devices';
import { bytes, deviceFigures } from '../base/format';
import { said, t } from '../base/l10n';
import type { Pending } from '../base/request';
import { visible } from '../base/text';
import { followHeadline } from '../compare/headline';
import { makeAround, type Around } from '../shell/around';
import { EVERYTHING, type Change } from '../shell/context';
import { Dock } from '../shell/dock';
import { svgTheme, type AskedSvg } from '../shell/export';
import { traceTerms } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { tabsOf } from '../shell/pane';
import { shareEntries } from '../shell/share';
import { isOf, keptState } from '../shell/state';
import { ModelView } from '../shell/view';
import { HoverCard } from '../widgets/hover-card';
import { Island } from '../widgets/island';
import { Legend as Categories } from '../widgets/legend';
import type { MenuEntry } from '../widgets/menu';
import { AreaLegend } from './area-legend';
import { BackdropData } from './backdrop-data';
import { BookmarkTour } from './bookmark-tour';
import { TIMELINE_COMMANDS } from './commands';
import { DeviceData } from './device-data';
import { withMissing } from './missing-source';
import { gestures } from './gestures';
import { Heard } from './heard';
import { Hover } from './hover';
import { PointerInput } from '../widgets/pointer';
import { timelineKeys } from './key-list';
import { Lanes } from './lanes';
import { categoriesOf, followAreas, showFigures } from './legends';
import { timelineMenu } from './menu';
import { Minimap } from './minimap';
import { Panel } from './panel';
import { followSelection } from './panel-feed';
import { PANES } from './panes.gen';
import { devicePicker, groupPicker, picturePicker, stackedName } from './pickers';
import { listenForMenu } from './picture-menu';
import { PICTURES } from './pictures.gen';
import type { Picture } from './pictures/picture';
import { ScopeBar } from './scope';
import { TimelineSession } from './session';
import { restoreState } from './state';
import { exposeForTests } from './test-hook';
import { TooltipCard } from './tooltip';

export class SnapshotView extends ModelView<TimelineSession> {
  readonly around: Around;
  readonly dock: Dock;
  private readonly frame: ViewFrame;
  private readonly pictures: readonly Picture[];
  private readonly minimap: Minimap;
  private readonly lanes: Lanes;
  private readonly legend: AreaLegend;
  private readonly hover: Hover;
  readonly pointer: PointerInput;
  readonly tour: BookmarkTour;
  private readonly heard: Heard;
  private readonly data: DeviceData;
  private readonly backdrop: BackdropData;
  /** The picture that was shown last, in place of the stacked one. */
  private lastPicture: Picture | null = null;

  constructor(
    private readonly api: Api,
    root: HTMLElement,
    private readonly info: TimelineInfo,
    hostState: ViewState | null,
  ) {
    const kept = keptState('timeline', hostState, api.saved());
    const state = restoreState(info, kept);
    // Set by tests and the bench; the host does not.
    const { prefer } = root.dataset;
    const renderer = prefer === 'webgl2' || prefer === 'canvas2d' ? prefer : 'auto';
    super(new TimelineSession(api, info, state, renderer), root, TIMELINE_COMMANDS);
    const { session } = this;
    const { plot, selection, cursors } = session;
    const tooltip = new HoverCard(TooltipCard);
    this.around = this.makeAround();
    this.minimap = new Minimap((camera, glide) => plot.moveTo(camera, glide));
    this.data = new DeviceData(session, this.minimap);
    this.backdrop = new BackdropData(api, (known) => {
      plot.setBackdrop(known);
      this.minimap.setWhole(known.whole);
    });
    this.tour = new BookmarkTour(session);
    this.heard = new Heard(session);
    this.legend = new AreaLegend(plot, (key) => selection.highlightArea(key));
    this.hover = new Hover({
      view: session,
      plot,
      tooltip,
      askThere: (moment, y) => this.hitAt(moment, y),
      columnShown: () => showFigures(this.legend, this.hover, session),
    });
    this.pointer = new PointerInput(
      plot.surface,
      gestures({
        plot,
        selection,
        cursors,
        hover: this.hover,
        openLabel: (allocation) => session.openLabel(allocation),
        boxUsed: () => {
          if (this.pointer.boxTool) this.pointer.toggleBoxTool();
        },
      }),
    );
    listenForMenu(
      session,
      this.tour,
      (moment, y) => this.hitAt(moment, y),
      (action) => this.run(action),
    );
    this.pictures = PICTURES.flatMap((each) => each.make(session) ?? []);
    session.pictures = this.pictures.map(({ id }) => id);
    this.dock = new Dock(
      session,
      tabsOf(session, PANES),
      () => this.focusPicture(),
      3,
      ({ hidden }) => <ScopeBar cursors={cursors} name={scopeName(session)} hidden={hidden} />,
    );
    this.lanes = new Lanes(session);
    this.frame = this.makeFrame(tooltip);
    exposeForTests(plot);
    this.followAll();
    session.turnTo(session.device, state.axis, state);
    cursors.turnTo(session.device.device, state);
    this.update(new Set(EVERYTHING));
    session.showPicture(state.picture);
    session.show(state.pane);
    this.begin();
    if (!kept) this.suitsFirst();
    if (state.selection !== null) selection.select(state.selection, null, false);
    if (state.filter !== '') session.setFilter(state.filter);
  }

  /** A snapshot that doesn't say who allocated has nothing to show by line: by size, and its segments. */
  private suitsFirst(): void {
    const { session } = this;
    session.whileShown(
      this.around.summary.headline.subscribe((headline) => {
        if (headline?.rule !== 'no_history') return;
        session.areas.groupBy('size');
        session.show('state');
      }),
    );
  }

  override get reported(): number {
    return this.session.device.device;
  }

  override dispose(): void {
    this.lanes.dispose();
    this.backdrop.dispose();
    for (const picture of this.pictures) picture.dispose?.();
    super.dispose();
    this.session.plot.dispose();
    this.minimap.dispose();
  }

  picture(): AskedSvg {
    const { session } = this;
    const { plot, device, axis, filterAsIf: filter, areas, attribution } = session;
    const { x0, x1, y0, y1 } = plot.target;
    return this.api.request('memlens/timelineSvg', {
      device: device.device,
      axis,
      filter,
      x0,
      x1,
      ...(plot.holdsHeight ? { y0, y1 } : { y0: null, y1: null }),
      areas: { by: areas.lastKind, attribution: attribution.value },
      theme: svgTheme(),
      picture: this.shown?.exported ?? 'stacked',
    });
  }

  goTo(state: ViewState): void {
    if (isOf('timeline', state)) this.session.goTo(restoreState(this.info, state));
  }

  protected override heed(message: HostMessage): void {
    const { session } = this;
    const { selection } = session;
    switch (message.type) {
      case 'showLine':
        session.arrange({ panelOpen: true });
        selection.showLine(message.file, message.line);
        return;
      case 'showAllocation':
        session.arrange({ panelOpen: true });
        selection.select(message.allocation, null, true);
        selection.zoomTo(message.allocation);
        return;
      case 'sourceMissing':
        session.arrange({ panelOpen: true });
        session.missing.value = withMissing(session.missing.value, {
          file: message.file,
          line: message.line,
          lookedFor: message.lookedFor.join(', '),
        });
        return;
      case 'other':
        session.compare.receive(message.other);
        if (message.fresh) session.showComparison();
        return;
      case 'bookmarks':
        session.bookmarks.renew();
        return;
      default:
        return;
    }
  }

  // --- what it is made of ------------------------------------------------------------------------------------------

  private makeAround(): Around {
    const { session, info } = this;
    return makeAround(session, {
      label: t('Timeline'),
      terms: traceTerms(info.categories),
      keys: timelineKeys(),
      next: {
        text: info.devices.some(hasHistory)
          ? t('Click an area to see its allocations and their stacks, or {0}.')
          : t(
              'To see memory over time, call torch.cuda.memory._record_memory_history() before the work, or {0}.',
            ),
        link: t('compare with another snapshot'),
      },
      menu: () => this.menu(),
      focusPicture: () => this.focusPicture(),
    });
  }

  private makeFrame(tooltip: { readonly root: HTMLElement }): ViewFrame {
    const { session, around, dock, pictures } = this;
    const categories = categoriesOf(session);
    return new ViewFrame(this.root, session, {
      Head: around.Head,
      Files: around.fileBar.View,
      Minimap: this.minimap.View,
      Lanes: this.lanes.View,
      Areas: this.legend.View,
      dock,
      pictures: [
        () => <Island of={session.plot.root} />,
        ...pictures.map(({ id, View }) => () => <View hidden={session.picture.value !== id} />),
      ],
      Panel: (room) => <Panel {...room} session={session} run={(action) => this.run(action)} />,
      Help: around.help.View,
      Legend: () => categories.value && Categories(categories.value),
      Tooltip: () => <Island of={tooltip.root} />,
    });
  }

  /** The picture that replaces the stacked one. */
  private get shown(): Picture | null {
    return this.pictures.find(({ id }) => id === this.session.picture.value) ?? null;
  }

  // --- what follows what -------------------------------------------------------------------------------------------

  private followAll(): void {
    const { session, root, around, frame, minimap, hover } = this;
    const { plot, areas, attribution } = session;
    followHeadline(session, (headline) => {
      around.summary.compared.value = headline;
    });
    const following = <T,>(read: () => T, use: (value: T) => void): void =>
      session.whileShown(using(read, use));
    following(
      () => session.picture.value !== 'stacked' || plot.isDrawn.value,
      (isReady) => {
        root.dataset['state'] = isReady ? 'ready' : 'loading';
      },
    );
    following(
      () => plot.rendererKind,
      (kind) => {
        root.dataset['renderer'] = kind;
      },
    );
    following(
      () => plot.busy.value,
      (busy) => {
        frame.busy.value = busy;
      },
    );
    following(
      () => session.palette,
      (palette) => plot.setPalette(palette),
    );
    following(
      () => areas.kind && { by: areas.kind, attribution: attribution.value },
      (grouping) => {
        plot.setGrouping(grouping);
        if (plot.highlighted.kind === 'area') session.selection.clear();
      },
    );
    following(
      () => this.shown,
      (shown) => this.showPicture(shown),
    );
    following(
      () => [picturePicker(session, this.pictures), groupPicker(session), devicePicker(session)],
      (all) => {
        around.pickers.value = all.filter(({ options }) => options.length > 1);
      },
    );
    following(
      () => [session.device, session.filterAsIf] as const,
      () => this.showDevice(),
    );
    following(
      () => [session.device, session.cursors.marks(session.axis, plot.bounds.x0)] as const,
      ([, marks]) => plot.setMarks(marks),
    );
    following(
      () => session.flags.of(session.device.device, session.axis),
      (flags) => {
        plot.setFlags(flags);
        minimap.setFlags(flags);
      },
    );
    following(
      () => plot.seen.value,
      (camera) => {
        minimap.setCamera(camera, plot.bounds);
        hover.moving();
      },
    );
    following(
      () => plot.drawn.value,
      (geometry) => {
        if (geometry) this.drawn(geometry);
      },
    );
    followAreas(this.legend, session);
    following(
      () => [plot.drawn, session.picture, plot.seen, session.selection.shown].map(({ value }) => value),
      () => showFigures(this.legend, hover, session),
    );
    following(
      () => [session.device, session.axis, session.cursors.now],
      () => showFigures(this.legend, hover, session),
    );
    followSelection(session);
  }

  private drawn({ coarser, grouped }: Geometry): void {
    const { session, root, around, frame, hover } = this;
    const { plot, device, axis, filterAsIf, whatIf } = session;
    root.dataset['pictures'] = String(plot.pictures);
    frame.coarser.value = coarser;
    session.colours.take(grouped);
    session.notes.recovered();
    hover.refresh();
    around.summary.find();
    this.backdrop.ask(device.device, axis, plot.bounds, filterAsIf, whatIf.drawn.value !== '');
  }

  protected override update(changes: ReadonlySet<Change>): void {
    const { session, data, around, hover } = this;
    if (changes.has('device')) around.summary.turnTo(session.device.device);
    if (changes.has('device') || changes.has('axis') || changes.has('filter')) {
      hover.reset();
      if (changes.has('device') || changes.has('filter')) data.turnTo();
      data.fetchOverview();
    }
    if (changes.has('device') && this.shown) around.summary.find();
    if (changes.has('selection')) hover.refresh();
    this.lanes.update(changes);
    this.shown?.update(changes);
    this.dock.update(changes);
  }

  /** Another picture is shown. */
  private showPicture(shown: Picture | null): void {
    const { lastPicture: before, session } = this;
    this.lastPicture = shown;
    if (before !== shown) before?.hide();
    session.plot.setHidden(shown !== null);
    if (!shown) return;
    shown.update(new Set(EVERYTHING));
    this.around.summary.find();
  }

  /** The device's figures, of what the filter leaves. */
  private showDevice(): void {
    const { session, frame } = this;
    const { device } = session;
    const figures = deviceFigures(device);
    // Without a history there is no run to give an overview of.
    this.minimap.hidden.value = !hasHistory(device);
    if (session.filterAsIf !== '') {
      const { peak_bytes: whole } = session.deviceOf(device.device);
      const isChanged = session.whatIf.drawn.value !== '';
      figures.unshift(isChanged ? t('With the changes:') : t('Of what matches the filter:'));
      figures.push(isChanged ? t('recorded peak {0}', bytes(whole)) : t('unfiltered peak {0}', bytes(whole)));
    }
    frame.status.value = visible(figures.join('  ·  '));
    session.plot.setLabel(
      t('{0}: memory over time. {1}. Press ? for the keys.', said(device.name), figures.join(', ')),
    );
  }

  // --- what is done ------------------------------------------------------------------------------------------------

  override run(action: Action): void {
    if (this.shown?.run?.(action)) return;
    const other = this.pictures.find(({ id }) => action === `picture.${id}`);
    if (other) this.session.showPicture(other.id);
    else super.run(action);
    this.heard.of(action, this.pointer.boxTool);
  }

  private focusPicture(): void {
    const { shown } = this;
    if (shown) shown.focus();
    else this.session.plot.focus();
  }

  /** What lies at a moment and a height. */
  private hitAt(moment: number, y: number): Pending<HitAnswer> {
    const { device, filterAsIf: filter, plot } = this.session;
    return this.api.request('memlens/hit', {
      device: device.device,
      moment,
      y_bytes: y,
      filter,
      areas: plot.grouped,
    });
  }

  private menu(): readonly MenuEntry[] {
    const { session } = this;
    const share = shareEntries(
      this.api,
      () => this.around.summary.text,
      (this.shown?.exported && this.shown.title) ?? stackedName(session.device),
    );
    return timelineMenu(session, this.pointer.boxTool, (action) => this.run(action), share);
  }
}

/** The set in words, and whether it is what would have been. */
function scopeName({ setName, whatIf }: TimelineSession): string {
  return whatIf.drawn.value === '' ? setName : t('{0}, with the changes', setName);
}
