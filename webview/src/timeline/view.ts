// A snapshot's view: which device, axis and colours are shown, and what follows when that changes.

import { signal } from '@preact/signals';
import { plural, t } from '../base/l10n';
import type { Geometry } from '../../../extension/shared/geometry';
import {
  AREA_KINDS,
  PICTURE_IDS,
  type AreaKind,
  type ViewCommand,
  type ViewState,
} from '../../../extension/shared/messages';
import type {
  DeviceInfo,
  Evidence,
  LineAnswer,
  LineLink,
  StackAnswer,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { Arrangement } from './arrangement';
import { Colours } from './scene/colours';
import { runAction, SHARED_COMMANDS, type Commanded } from './commands';
import { bookmarkAt, bookmarkX, type Bookmarks, type PlacedBookmark } from './bookmarks';
import { Compare } from '../compare/comparison';
import type { Change } from '../shell/context';
import { momentName, type Cursors, type CursorState } from './cursors';
import { KeptAttribution } from '../shell/attribution';
import { svgTheme, type AskedSvg } from '../shell/export';
import { KeptFlame } from '../flame/settings';
import type { Action } from '../shell/keys';
import { actionAt } from '../shell/keyboard';
import { Narrowing } from './narrowing';
import { PanelFeed } from './panel-feed';
import { makeParts, type Parts, type PartsOwner } from './parts';
import type { Plot } from './plot';
import type { Camera } from '../canvas/camera';
import { legendMoment } from './legend-moment';
import { hasHistory, hasTimes } from '../base/devices';
import { deviceExtent, peakAt, restoreLayout, restoreState, type Axis } from '../shell/state';
import type { Selection } from './selection';
import type { MenuEntry } from '../widgets/menu';
import { saver } from '../shell/saver';
import { shareEntries } from '../shell/share';
import type { Picker } from '../shell/toolbar';
import { timelineMenu } from './menu';
import { Sources } from './sources';
import { exposeForTests } from './test-hook';
import { bytes, deviceFigures } from '../base/format';
import { visible } from '../base/text';
import { baseName } from '../base/paths';
import { theme } from '../canvas/theme';

/** Which picture is exported; a comparison's is drawn over the own timeline. */
const PICTURE_OF = { stacked: 'stacked', map: 'map', reserved: 'reserved', compare: 'stacked' } as const;
/** The picture of areas is called a timeline where there is more than one moment. */
const stackedName = (device: DeviceInfo): string => (hasHistory(device) ? t('Timeline') : t('In use'));

export class SnapshotView implements Commanded, PartsOwner {
  device: DeviceInfo;
  axis: Axis;
  readonly colours: Colours;
  /** Narrows every view; `device` has the figures of what matches it. */
  filter = '';
  /** What the timeline is grouped by; null in the order of PyTorch's viewer. */
  areas: ViewState['areas'];
  private lastAreas: AreaKind = 'line';
  readonly comparedWith = signal<string | null>(null);
  readonly compare: Compare;
  readonly flame: KeptFlame;
  readonly attribution: KeptAttribution;
  readonly sources: Sources;
  readonly arrangement: Arrangement;
  private readonly parts: Parts;
  /** Whether a device has been shown. */
  private started = false;
  private readonly feed: PanelFeed;
  private readonly narrowing: Narrowing;
  private readonly stop = new AbortController();
  private readonly saveSoon = saver(() => {
    this.save();
  }, this.stop.signal);

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    private readonly info: TimelineInfo,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const state = restoreState(info, hostState ?? saved?.view);
    this.device = this.deviceOf(state.device);
    this.axis = state.axis;
    this.colours = new Colours(info.categories, state.colour);
    this.areas = state.areas;
    const say = (text: string): void => {
      this.say(text);
    };
    this.sources = new Sources(api, say);
    this.compare = new Compare(api, baseName(info.path), state.compare, () => {
      this.comparedWith.value = this.compare.other?.name ?? null;
      this.changed('compare');
      this.saveSoon();
    });
    this.flame = new KeptFlame(state.flame, info, this.saveSoon);
    this.attribution = new KeptAttribution(api, () => {
      this.regroup();
      this.changed('attribution');
    });
    this.parts = makeParts(api, root, info, restoreLayout(saved?.layout), this);
    this.arrangement = new Arrangement(root, this.parts, this);
    this.feed = new PanelFeed(this.parts, this.colours, this, say);
    this.narrowing = new Narrowing(api, this.parts.filterBox);
    window.addEventListener(
      'keydown',
      (event) => {
        const action = this.parts.help.isOpen ? null : actionAt(event);
        if (!action) return;
        event.preventDefault();
        this.run(action);
      },
      { signal: this.stop.signal },
    );
    exposeForTests(this.plot);
    root.dataset['renderer'] = this.plot.rendererKind;
    const unfollow = theme.subscribe(() => {
      this.repaint();
    });
    this.stop.signal.addEventListener('abort', unfollow);
    this.plot.setHold(state.holdHeight);
    this.regroup();
    this.show(this.device, this.axis, state);
    this.cursors.turnTo(this.device.device, state);
    this.arrangement.showPicture(state.picture);
    this.parts.dock.show(state.pane);
    if (!saved?.view && !hostState) this.suitsFirst();
    if (state.selection !== null) this.selection.select(state.selection, null, false);
    if (state.filter !== '') this.setFilter(state.filter);
  }

  /** A snapshot that doesn't say who allocated has nothing to show by line: by size, and its segments. */
  private suitsFirst(): void {
    const stop = this.parts.summary.headline.subscribe((headline) => {
      if (headline?.rule !== 'no_history' || this.stop.signal.aborted) return;
      this.groupBy('size');
      this.parts.dock.show('state');
    });
    this.stop.signal.addEventListener('abort', stop);
  }

  get plot(): Plot {
    return this.parts.plot;
  }

  get cursors(): Cursors {
    return this.parts.cursors;
  }

  get selection(): Selection {
    return this.parts.selection;
  }

  dispose(): void {
    this.saveSoon.flush();
    this.stop.abort();
    this.parts.dock.dispose();
    this.parts.summary.drop();
    this.parts.lanes.dispose();
    this.parts.backdrop.dispose();
    for (const picture of this.parts.pictures) picture.dispose?.();
    this.plot.dispose();
    this.parts.minimap.dispose();
    this.parts.frame.dispose();
  }

  picture(): AskedSvg {
    const { x0, x1, y0, y1 } = this.plot.target;
    return this.api.request('memlens/timelineSvg', {
      ...{ device: this.device.device, axis: this.axis, filter: this.filter, x0, x1 },
      ...(this.plot.holdsHeight ? { y0, y1 } : { y0: null, y1: null }),
      areas: { by: this.areas ?? this.lastAreas, attribution: this.attribution.value },
      theme: svgTheme(),
      picture: PICTURE_OF[this.arrangement.picture],
    });
  }

  get reported(): number {
    return this.device.device;
  }

  goTo(saved: ViewState): void {
    const state = restoreState(this.info, saved);
    this.plot.setHold(state.holdHeight);
    if (state.colour !== this.colours.by && this.colours.toggle()) this.repaint();
    if (state.areas !== this.areas) {
      this.areas = state.areas;
      this.regroup();
    }
    this.narrowing.cancel();
    this.parts.filterBox.show(state.filter);
    if (state.device === this.device.device && state.filter === this.filter) this.arrive(state, this.device);
    else if (state.filter === '') this.arrive(state, this.deviceOf(state.device));
    else
      this.narrowing.ask(state.device, state.filter, (device) => {
        this.arrive(state, device);
      });
  }

  /** `device` as the filter leaves it. */
  private arrive(state: ViewState, device: DeviceInfo): void {
    const { cursors, dock } = this.parts;
    this.filter = state.filter;
    const here = device === this.device && state.axis === this.axis;
    if (here) this.plot.moveTo(state, true);
    else this.show(device, state.axis, state);
    const moments = ({ scope, kind, first, second }: CursorState): string =>
      JSON.stringify([scope, kind, first, second]);
    if (moments(cursors.state) !== moments(state)) {
      cursors.turnTo(device.device, state);
      if (state.first === null) this.cursorsChanged();
    }
    this.flame.restore(state.flame);
    this.compare.goTo(state.compare);
    if (state.picture !== this.arrangement.picture) this.arrangement.showPicture(state.picture);
    dock.show(state.pane);
    this.changed('flame', ...(here ? [] : (['filter'] as const)));
    if (state.selection === null) this.selection.clear();
    else if (!here || state.selection !== this.selection.current)
      this.selection.select(state.selection, null, false);
    this.rearranged();
  }

  receive(message: HostMessage): void {
    const { frame, panel } = this.parts;
    switch (message.type) {
      case 'showLine':
        frame.set({ panelOpen: true });
        this.selection.showLine(message.file, message.line);
        return;
      case 'showAllocation':
        frame.set({ panelOpen: true });
        this.selection.select(message.allocation, null, true);
        this.selection.zoomTo(message.allocation);
        return;
      case 'sourceMissing':
        frame.set({ panelOpen: true });
        panel.sourceMissing(message.file, message.line, message.lookedFor);
        return;
      case 'other':
        this.compare.receive(message.other, this.device.device);
        if (!message.fresh) return;
        this.showComparison();
        return;
      case 'bookmarks':
        this.bookmarks.receive(message.bookmarks);
        return;
      case 'file':
        this.parts.fileBar.show(message.of, message.state);
        return;
      case 'command':
        this.run(message.command);
        return;
      default:
        return;
    }
  }

  // --- what actions need -------------------------------------------------------------------------------------------

  run(action: Action): void {
    if (!this.arrangement.shown?.run?.(action)) runAction(action, this);
  }

  peak(): { x: number; bytes: number } | null {
    const x = peakAt(this.device, this.axis);
    return x === null ? null : { x, bytes: this.device.peak_bytes };
  }

  toggleAxis(): void {
    if (hasTimes(this.device)) this.show(this.device, this.axis === 'time' ? 'event' : 'time', null);
  }

  setAxis(axis: Axis): void {
    if (axis !== this.axis) this.toggleAxis();
  }

  toggleColour(): void {
    if (this.areas !== null) {
      if (this.info.categories.length > 0) this.groupBy(this.areas === 'category' ? 'line' : 'category');
    } else if (this.colours.toggle()) this.repaint();
  }

  groupBy(kind: AreaKind | null): void {
    if (kind === this.areas) return;
    this.lastAreas = this.areas ?? this.lastAreas;
    this.areas = kind;
    this.regroup();
    if (this.arrangement.shown) this.changed('theme');
    if (this.plot.highlighted.kind === 'area') this.selection.clear();
    this.rearranged();
  }

  toggleOrder(): void {
    this.groupBy(this.areas === null ? this.lastAreas : null);
  }

  toggleHeight(): void {
    this.plot.setHold(!this.plot.holdsHeight);
    this.say(this.plot.holdsHeight ? t('The height is held') : t('The height follows what is in view'));
    this.saveSoon();
  }

  /** The picture is to be grouped as it is chosen. */
  private regroup(): void {
    const { areas, attribution } = this;
    if (!this.arrangement.shown) this.root.dataset['state'] = 'loading';
    this.plot.setGrouping(areas && { by: areas, attribution: attribution.value });
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    this.parts.filterBox.show(text);
    this.narrowing.cancel();
    if (text === this.filter) return;
    if (text === '') {
      this.narrowTo('', this.deviceOf(this.device.device));
      return;
    }
    this.narrowing.ask(this.device.device, text, (info) => {
      this.narrowTo(text, info);
    });
  }

  open(line: LineLink, beside: boolean): void {
    this.sources.open(line, beside);
  }

  copy(text: string): void {
    this.api.post({ type: 'copy', text });
  }

  focusFilter(): void {
    this.parts.filterBox.focus();
  }

  toggleHelp(): void {
    this.parts.help.toggle();
  }

  nextDevice(): void {
    const { devices } = this.info;
    const at = devices.findIndex(({ device }) => device === this.device.device);
    const next = devices[(at + 1) % devices.length];
    if (!next || next.device === this.device.device) return;
    this.switchDevice(next.device);
    this.say(next.name);
  }

  switchDevice(device: number): void {
    if (this.filter === '') {
      this.show(this.deviceOf(device), this.axis, null);
      return;
    }
    this.narrowing.ask(device, this.filter, (info) => {
      this.show(info, this.axis, null);
    });
  }

  // --- what the parts report ---------------------------------------------------------------------------------------

  moved(camera: Camera): void {
    this.parts.minimap.setCamera(camera, this.plot.bounds);
    this.parts.hover.moving();
    this.changed('camera');
    this.columnShown();
    this.saveSoon();
  }

  cursorsChanged(): void {
    const { cursors } = this.parts;
    this.plot.setMarks(cursors.marks(this.axis, this.plot.bounds.x0));
    this.columnShown();
    this.changed('cursors');
    this.saveSoon();
  }

  drawn(geometry: Geometry): void {
    const { dataset } = this.root;
    dataset['pictures'] = String(this.plot.pictures);
    dataset['state'] = 'ready';
    const { frame, hover } = this.parts;
    frame.coarser.value = geometry.coarser;
    const before = this.colours.grouped;
    this.colours.grouped = geometry.grouped && { by: geometry.grouped.by, areas: geometry.grouped.areas };
    this.showLegend();
    if (JSON.stringify(before) !== JSON.stringify(this.colours.grouped)) {
      this.feed.repaint();
      this.changed('theme');
    }
    frame.recovered();
    hover.refresh();
    this.parts.summary.find();
    this.parts.backdrop.ask(this.device.device, this.axis, this.plot.bounds, this.filter);
  }

  /** The legend shows the moment under the pointer, else of the cursor's, else of the highest in view. */
  columnShown(): void {
    const { hover, legend, cursors } = this.parts;
    const g = this.plot.geometry;
    if (!g?.grouped) return;
    const looked = { hovered: hover.column, picked: cursors.first };
    const shown = legendMoment(this.plot, g, this.device, this.axis, looked);
    if (shown) legend.showFigures(g, shown);
  }

  private showLegend(): void {
    const lit = this.plot.highlighted;
    this.parts.legend.show(this.plot.geometry, this.colours.palette, lit.kind === 'area' ? lit.key : null);
    if (this.arrangement.shown) this.parts.legend.hide();
    this.columnShown();
  }

  get bookmarks(): Bookmarks {
    return this.parts.bookmarks;
  }

  /** At a moment, else the cursor's, else the peak; with what is selected. */
  addBookmark(moment?: number): void {
    const { cursors, selection, api } = this;
    const { device, events } = this.device;
    if (events === 0) return;
    const at = moment ?? cursors.moment;
    const pending = api.request('memlens/moment', { device, moment: at, filter: '' });
    pending.answer.then(
      (answer) => {
        this.bookmarks.add(device, answer.moment, momentName(answer, this.axis), selection.current);
      },
      (error: unknown) => {
        this.failed(error);
      },
    );
  }

  stepBookmark(by: 1 | -1): void {
    const from = this.cursors.first?.moment ?? (by > 0 ? -1 : Infinity);
    const found = this.bookmarks.next(this.device.device, from, by);
    if (found) this.goToBookmark(found);
    else this.say(t('No bookmarks'));
  }

  goToBookmark(bookmark: PlacedBookmark): void {
    const { at, device, allocation, note } = bookmark;
    if (device !== this.device.device) {
      // the filter would have to be asked about first, and may leave the moment without anything
      this.setFilter('');
      this.switchDevice(device);
    }
    this.cursors.place(at.moment);
    if (allocation) this.selection.select(allocation.allocation, at.moment, false);
    else this.selection.clear();
    const x = bookmarkX(bookmark, this.axis);
    const { x0, x1, y0, y1 } = this.plot.target;
    if (x < x0 || x > x1) {
      const half = (x1 - x0) / 2;
      this.plot.moveTo({ x0: x - half, x1: x + half, y0, y1 }, true);
    }
    const when = bookmarkAt(bookmark, this.axis);
    this.say(note === '' ? t('Bookmark at {0}', when) : t('Bookmark at {0}: {1}', when, note));
  }

  backdropKnown(): void {
    this.updateFigures();
  }

  flagsKnown(): void {
    this.showFlags();
    this.changed('device');
    this.saveSoon();
  }

  /** What does something in the view as it is. */
  get commands(): readonly ViewCommand[] {
    const { info, device, selection, cursors, bookmarks } = this;
    const { dock, pictures } = this.parts;
    const selected = selection.current !== null;
    const lit = selected || this.plot.highlighted.kind !== 'none' || cursors.first !== null;
    const trace = device.events > 0;
    return [
      ...SHARED_COMMANDS,
      ...(['exportSvg', 'exportPng', 'fit', 'zoomIn', 'zoomOut', 'togglePane'] as const),
      ...(trace ? (['peak', 'addBookmark'] as const) : []),
      ...(bookmarks.list.value.length > 0
        ? (['nextBookmark', 'previousBookmark', 'exportBookmarks'] as const)
        : []),
      ...(selected ? (['zoomToSelection'] as const) : []),
      ...(lit ? (['clearSelection'] as const) : []),
      ...(hasTimes(device) ? (['toggleAxis'] as const) : []),
      ...(info.categories.length > 0 ? (['toggleColour', 'group.category'] as const) : []),
      ...(info.devices.length > 1 ? (['nextDevice'] as const) : []),
      ...dock.panes.map(({ id }) => `pane.${id}` as const),
      ...(['stacked', ...pictures.map(({ id }) => id)] as const).map((id) => `picture.${id}` as const),
      ...AREA_KINDS.filter((kind) => kind !== 'category').map((kind) => `group.${kind}` as const),
      ...(['group.none', 'toggleHeight'] as const),
    ];
  }

  boxUsed(): void {
    if (this.parts.pointer.boxTool) this.arrangement.toggleBoxTool();
  }

  waiting(sizeBytes: number | null): void {
    this.feed.waiting(sizeBytes);
    this.changed('selection');
    this.rearranged();
  }

  shown(answer: StackAnswer): void {
    this.feed.shown(answer);
    this.changed('selection');
    this.parts.hover.refresh();
    this.saveSoon();
  }

  lineShown(answer: LineAnswer): void {
    this.feed.lineShown(answer);
  }

  refreshed(): void {
    this.feed.repaint();
  }

  cleared(): void {
    this.changed('selection');
    this.feed.cleared();
    this.rearranged();
  }

  say(text: string): void {
    this.parts.frame.say(text);
  }

  failed(error: unknown): void {
    this.parts.frame.failed(error);
  }

  /** Shows what depends on the state and asks the server for nothing. */
  rearranged(): void {
    const { frame, pickers } = this.parts;
    const { categories } = this.info;
    const { colours } = this;
    frame.apply(this.arrangement.notePane() !== null);
    pickers.value = this.pickers();
    const byCategory = this.areas === null && colours.by === 'category';
    this.parts.categories.value = byCategory
      ? {
          ...{ names: categories, colours: colours.palette.categories, lit: this.selection.category },
          press: (category) => {
            this.selection.lightCategory(category);
            this.rearranged();
          },
        }
      : null;
    this.showLegend();
    this.saveSoon();
  }

  private get pictureName(): string {
    const { shown } = this.arrangement;
    return shown === null || shown.id === 'compare' ? stackedName(this.device) : shown.title;
  }

  private pickers(): readonly Picker[] {
    const { pictures } = this.parts;
    const all: Picker[] = [
      {
        ...{ label: t('View'), key: '', value: this.arrangement.picture },
        options: [
          { value: 'stacked', text: stackedName(this.device) },
          ...pictures.map(({ id, title }) => ({ value: id, text: title })),
        ],
        pick: (value) => {
          const id = PICTURE_IDS.find((each) => each === value);
          if (id) this.arrangement.showPicture(id);
        },
      },
      {
        ...{ label: t('Device'), key: 'd', value: String(this.device.device) },
        options: this.info.devices.map(({ device, name, peak_bytes: peak, ooms }) => ({
          value: String(device),
          text:
            ooms > 0
              ? t('{0} · peak {1} · out of memory', name, bytes(peak))
              : t('{0} · peak {1}', name, bytes(peak)),
        })),
        pick: (value) => {
          this.switchDevice(Number(value));
        },
      },
    ];
    return all.filter(({ options }) => options.length > 1);
  }

  showComparison(): void {
    this.arrangement.showPicture('compare');
    this.parts.dock.show('compare');
  }

  menu(): readonly MenuEntry[] {
    return timelineMenu({
      ...{ axis: this.axis, hasTimes: hasTimes(this.device), colour: this.colours.by },
      hasEvents: this.device.events > 0,
      areas: this.areas,
      hasCategories: this.info.categories.length > 0,
      boxTool: this.parts.pointer.boxTool,
      panel: this.parts.dock.shown !== null,
      details: this.parts.frame.current.panelOpen,
      run: (action) => {
        this.run(action);
      },
      share: shareEntries(this.api, () => this.parts.summary.text, this.pictureName),
    });
  }

  /** Shows the evidence of a sentence: its moments, its filter, and the pane that has it. */
  showEvidence({ pane, of, by, event, allocation }: Evidence): void {
    if (of.device !== this.device.device) this.switchDevice(of.device);
    this.setFilter(of.filter);
    const { from_moment: from, to_moment: to } = of;
    if (from !== null && to !== null) this.cursors.span(from, to, of.kind);
    else if (from === null || from === this.deviceOf(of.device).peak_moment) this.cursors.setScope('peak');
    else this.cursors.place(from);
    this.parts.dock.show(pane);
    this.parts.dock.reveal({ by, event });
    if (allocation !== null) this.selection.select(allocation, from, true);
  }

  // --- devices, axes, colours --------------------------------------------------------------------------------------

  private show(device: DeviceInfo, axis: Axis, camera: Camera | null): void {
    const { data, hover, minimap, cursors } = this.parts;
    const first = !this.started;
    this.started = true;
    const other = device.device !== this.device.device;
    const selected = other ? null : this.selection.current;
    this.device = device;
    this.axis = axis === 'time' && hasTimes(device) ? 'time' : 'event';
    // Other pictures say themselves when they are not there yet.
    this.root.dataset['state'] = this.arrangement.shown ? 'ready' : 'loading';
    this.plot.show(device, this.axis, camera);
    hover.reset();
    if (other || first) {
      this.selection.clear();
      cursors.turnTo(device.device, null);
      data.turnTo(device.device);
      this.parts.summary.turnTo(device.device);
    } else if (selected !== null) this.selection.select(selected, null, true);
    // Without a history the run has no extent to find one's way in.
    minimap.hidden.value = !hasHistory(device);
    if (device.events > 0) data.fetchOverview(this.axis, minimap.columns);
    this.updateFigures();
    this.showFlags();
    this.changed('device', 'axis');
    this.cursorsChanged();
    this.rearranged();
    if (this.arrangement.shown) this.parts.summary.find();
  }

  /** Another filter on the same device: the same stretch of the run, as high as what is left. */
  private narrowTo(filter: string, device: DeviceInfo): void {
    const { data, hover, minimap } = this.parts;
    const { x0, x1 } = this.plot.target;
    const y1 = deviceExtent(device, this.axis).top;
    this.filter = filter;
    this.device = device;
    this.root.dataset['state'] = this.arrangement.shown ? 'ready' : 'loading';
    this.plot.show(device, this.axis, { x0, x1, y0: 0, y1 });
    hover.reset();
    data.turnTo(device.device);
    if (device.events > 0) data.fetchOverview(this.axis, minimap.columns);
    this.updateFigures();
    this.selection.refresh();
    this.changed('filter');
    const { allocations } = device;
    this.say(
      filter === ''
        ? t('No filter')
        : plural(allocations, '{0} allocation matches the filter', '{0} allocations match the filter'),
    );
    this.rearranged();
  }

  private showFlags(): void {
    const { plot, minimap, flags } = this.parts;
    const marked = flags.of(this.device.device, this.axis);
    plot.setFlags(marked);
    minimap.setFlags(marked);
  }

  private updateFigures(): void {
    const { device } = this;
    const figures = deviceFigures(device);
    if (this.filter !== '') {
      const { peak_bytes: whole } = this.deviceOf(device.device);
      figures.unshift(t('Of what matches the filter:'));
      figures.push(t('without it: peak {0}', bytes(whole)));
    }
    this.parts.frame.status.value = visible(figures.join('  ·  '));
    this.plot.setLabel(
      t('Memory of {0} over time. {1}. Press ? for the keys.', device.name.toLowerCase(), figures.join(', ')),
    );
  }

  focusPicture(): void {
    this.arrangement.focusPicture();
  }

  /** Neighbours are others in the memory map. */
  pictureShown(): void {
    this.feed.repaint();
    if (this.arrangement.shown) this.parts.summary.find();
  }

  /** Updates the picture and the pane that are shown. */
  changed(...changes: readonly Change[]): void {
    this.parts.lanes.update(new Set(changes));
    this.arrangement.shown?.update(new Set(changes));
    this.parts.dock.update(changes);
  }

  private repaint(): void {
    this.plot.setPalette(this.colours.palette);
    this.changed('theme');
    this.feed.repaint();
    this.rearranged();
  }

  save(): void {
    this.saveSoon.cancel();
    const { x0, x1, y0, y1 } = this.plot.target;
    const view: ViewState = {
      ...{ device: this.device.device, axis: this.axis, x0, x1, y0, y1, filter: this.filter },
      ...{ selection: this.selection.current, colour: this.colours.by, areas: this.areas },
      ...{ holdHeight: this.plot.holdsHeight, picture: this.arrangement.picture },
      ...{ pane: this.parts.dock.shown, compare: this.compare.state, flame: this.flame.state },
      ...{ ...this.parts.cursors.state, value: null, graph: null },
    };
    this.api.save(view, this.parts.frame.current, this.commands);
  }

  private deviceOf(device: number): DeviceInfo {
    const found = this.info.devices.find((each) => each.device === device) ?? this.info.devices[0];
    if (!found) throw new Error(`The snapshot has no device ${device}.`);
    return found;
  }
}
