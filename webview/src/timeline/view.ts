// A trace's view: its parts, and what follows for the others when one of them changes.

import { signal } from '@preact/signals';
import type { Geometry } from '../../../extension/shared/geometry';
import type { ViewCommand, ViewState } from '../../../extension/shared/messages';
import type {
  DeviceInfo,
  Evidence,
  LineAnswer,
  LineLink,
  StackAnswer,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import { t } from '../base/l10n';
import { baseName } from '../base/paths';
import type { Camera } from '../canvas/camera';
import { theme } from '../canvas/theme';
import { Compare } from '../compare/comparison';
import { KeptFlame } from '../flame/settings';
import { KeptAttribution } from '../shell/attribution';
import type { Change } from '../shell/context';
import { svgTheme, type AskedSvg } from '../shell/export';
import { listenForKeys } from '../shell/keyboard';
import { TIMELINE_KEYS, type Action } from '../shell/keys';
import { saver } from '../shell/saver';
import { shareEntries } from '../shell/share';
import { isOf, keptState, restoreLayout } from '../shell/state';
import { restoreState } from './state';
import type { Axis } from '../base/devices';
import type { MenuEntry } from '../widgets/menu';
import { Arrangement } from './arrangement';
import type { BookmarkTour } from './bookmark-tour';
import { commandsOf, runAction, type Commanded } from './commands';
import type { Cursors } from './cursors';
import { Grouping } from './grouping';
import { Legends } from './legends';
import { timelineMenu } from './menu';
import { PanelFeed } from './panel-feed';
import { makeParts, type Parts, type PartsOwner } from './parts';
import { devicePicker, picturePicker, stackedName } from './pickers';
import { goTo, placeOf } from './places';
import type { Plot } from './plot';
import { Colours } from './scene/colours';
import type { Selection } from './selection';
import { Sources } from './sources';
import { Subject } from './subject';
import { exposeForTests } from './test-hook';
import { WhatIf } from './what-if';

/** Which picture is exported; a comparison's is drawn over the own timeline. */
const PICTURE_OF = { stacked: 'stacked', map: 'map', reserved: 'reserved', compare: 'stacked' } as const;

export class SnapshotView implements Commanded, PartsOwner {
  readonly colours: Colours;
  readonly subject: Subject;
  readonly grouping: Grouping;
  readonly comparedWith = signal<string | null>(null);
  readonly compare: Compare;
  readonly flame: KeptFlame;
  readonly attribution: KeptAttribution;
  readonly sources: Sources;
  readonly whatIf: WhatIf;
  readonly arrangement: Arrangement;
  readonly parts: Parts;
  private readonly legends: Legends;
  private readonly feed: PanelFeed;
  private readonly stop = new AbortController();
  private readonly saveSoon = saver(() => this.save(), this.stop.signal);

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    private readonly info: TimelineInfo,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const kept = keptState('timeline', hostState, saved);
    const state = restoreState(info, kept);
    this.subject = new Subject(api, root, info, state, this);
    this.colours = new Colours(info.categories, state.colour);
    const say = (text: string): void => this.say(text);
    this.sources = new Sources(api, say);
    this.whatIf = new WhatIf(() => {
      this.changed('whatIf');
      this.parts.dock.show('whatIf');
    });
    const compared = (): void => {
      this.comparedWith.value = this.compare.other?.name ?? null;
      this.changed('compare');
      this.saveSoon();
    };
    this.compare = new Compare(api, baseName(info.path), state.compare, compared, this.subject);
    this.flame = new KeptFlame(state.flame, info, this.saveSoon);
    this.attribution = new KeptAttribution(api, () => {
      this.regroup();
      this.changed('attribution');
    });
    this.parts = makeParts(api, root, info, restoreLayout(saved?.layout), this);
    this.arrangement = new Arrangement(root, this.parts, this);
    this.grouping = new Grouping(this.colours, state.areas, this);
    this.legends = new Legends(this.parts, this);
    this.feed = new PanelFeed(this.parts, this.colours, this, say);
    listenForKeys(TIMELINE_KEYS, this.parts.help, (action) => this.run(action), this.stop.signal);
    exposeForTests(this.plot);
    root.dataset['renderer'] = this.plot.rendererKind;
    const unfollow = theme.subscribe(() => this.recoloured());
    this.stop.signal.addEventListener('abort', unfollow);
    this.plot.setHold(state.holdHeight);
    this.regroup();
    this.subject.show(this.device, this.axis, state);
    this.cursors.turnTo(this.device.device, state);
    this.arrangement.showPicture(state.picture);
    this.parts.dock.show(state.pane);
    if (!kept) this.suitsFirst();
    if (state.selection !== null) this.selection.select(state.selection, null, false);
    if (state.filter !== '') this.setFilter(state.filter);
  }

  /** A snapshot that doesn't say who allocated has nothing to show by line: by size, and its segments. */
  private suitsFirst(): void {
    const stop = this.parts.summary.headline.subscribe((headline) => {
      if (headline?.rule !== 'no_history' || this.stop.signal.aborted) return;
      this.grouping.groupBy('size');
      this.parts.dock.show('state');
    });
    this.stop.signal.addEventListener('abort', stop);
  }

  get device(): DeviceInfo {
    return this.subject.device;
  }

  get axis(): Axis {
    return this.subject.axis;
  }

  get filter(): string {
    return this.subject.filter;
  }

  get tour(): BookmarkTour {
    return this.parts.tour;
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
      areas: { by: this.grouping.lastKind, attribution: this.attribution.value },
      theme: svgTheme(),
      picture: PICTURE_OF[this.arrangement.picture],
    });
  }

  get reported(): number {
    return this.device.device;
  }

  goTo(state: ViewState): void {
    if (isOf('timeline', state)) goTo(restoreState(this.info, state), this, this.parts);
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
        panel.sourceMissing(message.file, message.line, message.lookedFor.join(', '));
        return;
      case 'other':
        this.compare.receive(message.other);
        if (!message.fresh) return;
        this.showComparison();
        return;
      case 'bookmarks':
        this.parts.bookmarks.renew();
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

  setAxis(axis: Axis): void {
    this.subject.setAxis(axis);
  }

  toggleHeight(): void {
    this.plot.setHold(!this.plot.holdsHeight);
    this.say(this.plot.holdsHeight ? t('The height is fixed') : t('The height adapts to the view'));
    this.saveSoon();
  }

  /** The picture is to be grouped as it is chosen. */
  regroup(): void {
    const { kind } = this.grouping;
    if (!this.arrangement.shown) this.root.dataset['state'] = 'loading';
    this.plot.setGrouping(kind && { by: kind, attribution: this.attribution.value });
  }

  regrouped(): void {
    if (this.arrangement.shown) this.changed('theme');
    if (this.plot.highlighted.kind === 'area') this.selection.clear();
    this.rearranged();
  }

  setFilter(filter: string): void {
    this.subject.setFilter(filter);
  }

  switchDevice(device: number): void {
    this.subject.switchDevice(device);
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
    this.legends.showAreas();
    if (JSON.stringify(before) !== JSON.stringify(this.colours.grouped)) {
      this.feed.repaint();
      this.changed('theme');
    }
    frame.recovered();
    hover.refresh();
    this.parts.summary.find();
    this.parts.backdrop.ask(this.device.device, this.axis, this.plot.bounds, this.filter);
  }

  columnShown(): void {
    this.legends.showFigures();
  }

  backdropKnown(): void {
    this.subject.showFigures();
  }

  flagsKnown(): void {
    this.subject.showFlags();
    this.changed('device');
    this.saveSoon();
  }

  get commands(): readonly ViewCommand[] {
    return commandsOf(this.parts, this.info, this.device);
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
    const { pickers, pictures } = this.parts;
    this.arrangement.arrange();
    const all = [
      picturePicker(this.arrangement, pictures, this.device),
      devicePicker(this.info.devices, this.device.device, (device) => this.switchDevice(device)),
    ];
    pickers.value = all.filter(({ options }) => options.length > 1);
    this.legends.showCategories();
    this.legends.showAreas();
    this.saveSoon();
  }

  showComparison(): void {
    this.arrangement.showPicture('compare');
    this.parts.dock.show('compare');
  }

  menu(): readonly MenuEntry[] {
    // a comparison is drawn over the own timeline
    const shown = this.arrangement.picture === 'compare' ? null : this.arrangement.shown;
    const share = shareEntries(
      this.api,
      () => this.parts.summary.text,
      shown?.title ?? stackedName(this.device),
    );
    return timelineMenu(this, this.parts, share);
  }

  /** Shows the evidence of a sentence: its moments, its filter, and the pane that has it. */
  showEvidence({ pane, of, by, event, allocation }: Evidence): void {
    if (of.device !== this.device.device) this.switchDevice(of.device);
    this.setFilter(of.filter);
    const { from_moment: from, to_moment: to } = of;
    if (from !== null && to !== null) this.cursors.span(from, to, of.kind);
    else if (from === null || from === this.subject.deviceOf(of.device).peak_moment)
      this.cursors.setScope('peak');
    else this.cursors.place(from);
    this.parts.dock.show(pane);
    this.parts.dock.reveal({ by, event });
    if (allocation !== null) this.selection.select(allocation, from, true);
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
    if (changes.includes('cursors') || changes.includes('axis')) this.parts.scope.update();
    this.parts.lanes.update(new Set(changes));
    this.arrangement.shown?.update(new Set(changes));
    this.parts.dock.update(changes);
  }

  recoloured(): void {
    this.plot.setPalette(this.colours.palette);
    this.changed('theme');
    this.feed.repaint();
    this.rearranged();
  }

  save(): void {
    this.saveSoon.cancel();
    this.api.save(placeOf(this, this.parts), this.parts.frame.current, this.commands);
  }
}
