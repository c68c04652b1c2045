// A trace's view: its device along an axis, what is picked, selected and grouped, and the part of the run in view.

import { batch, computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { PictureId, ViewCommand } from '../../../extension/shared/commands';
import type { TimelineState } from '../../../extension/shared/messages';
import type {
  AllocationSet,
  AllocationSummary,
  Branch,
  DeviceInfo,
  Evidence,
  Group,
  GroupedBy,
  StepParams,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { hasTimes, type Axis } from '../base/devices';
import { bytes, hasSource } from '../base/format';
import { plural, said, t } from '../base/l10n';
import { Names } from '../base/names';
import { baseName } from '../base/paths';
import type { Camera, Extent } from '../canvas/camera';
import type { Rgb } from '../canvas/colour';
import type { Palette } from '../canvas/palette';
import { Compare, type CompareContext, type OwnTimeline } from '../compare/comparison';
import { KeptFlame } from '../flame/settings';
import type { Timeline } from '../shell/context';
import { both } from '../shell/filter-terms';
import { Session, type Topics } from '../shell/session';
import { Bookmarks } from './bookmarks';
import { Cursors, type CursorState } from './cursors';
import { Flags } from './flags';
import type { Missing } from './missing-source';
import { Grouping } from './grouping';
import { Plot } from './plot';
import type { Preference } from './render/create';
import { Colours } from './scene/colours';
import type { Highlight } from './scene/paint';
import { Selection } from './selection';
import { deviceExtent, peakAt } from './state';
import { isReplayed, WhatIf } from './what-if';

const NO_FRAME = t('The file has no Python frame for this allocation.');

export class TimelineSession extends Session<TimelineState> implements CompareContext, Timeline, OwnTimeline {
  readonly model = 'timeline';
  readonly timeline = this;
  readonly names = new Names();
  readonly whatIf = new WhatIf(() => this.change());
  readonly colours: Colours;
  readonly areas: Grouping;
  readonly flame: KeptFlame;
  readonly compare: Compare;
  readonly plot: Plot;
  readonly selection: Selection;
  readonly cursors = new Cursors(this);
  readonly bookmarks: Bookmarks;
  readonly flags: Flags;
  readonly picture = signal<PictureId>('stacked');
  /** The pictures that there are. */
  pictures: readonly PictureId[] = [];
  /** The files of what is selected that were asked for and not found. */
  readonly missing = signal<readonly Missing[]>([]);
  private readonly holds: Signal<boolean>;
  /** With the figures of what the filter leaves of it. */
  private readonly deviceShown: Signal<DeviceInfo>;
  private readonly axisShown: Signal<Axis>;
  /** Whether a device has been shown. */
  private started = false;

  constructor(
    api: Api,
    readonly info: TimelineInfo,
    kept: TimelineState,
    readonly renderer: Preference,
  ) {
    super(api);
    this.deviceShown = signal(this.deviceOf(kept.device));
    this.axisShown = signal(kept.axis);
    this.holds = signal(kept.holdHeight);
    this.colours = new Colours(info.categories, kept.colour);
    this.areas = new Grouping(this.colours, kept.areas);
    this.flame = new KeptFlame(kept.flame, info);
    this.compare = new Compare(api, baseName(info.path), kept.compare, this);
    const failed = (error: unknown): void => this.failed(error);
    this.bookmarks = new Bookmarks(api, info, failed);
    this.flags = new Flags(api, info, failed, this.bookmarks);
    this.plot = new Plot(this);
    this.plot.setHold(kept.holdHeight);
    this.selection = new Selection(this);
    // open while something is selected
    this.arrange({ panelOpen: false });
  }

  protected override get place(): TimelineState {
    void [this.plot.seen.value, this.holds.value];
    const { x0, x1, y0, y1 } = this.plot.target;
    return {
      model: 'timeline',
      device: this.device.device,
      axis: this.axis,
      x0,
      x1,
      y0,
      y1,
      filter: this.filter,
      selection: this.selected,
      colour: this.colours.by,
      areas: this.areas.kind,
      holdHeight: this.plot.holdsHeight,
      picture: this.picture.value,
      pane: this.pane.value,
      compare: this.compare.state,
      flame: this.flame.state,
      ...this.cursors.state,
    };
  }

  private readonly lastColours = computed(() => [this.palette, this.colours.grouped, this.areas.kind]);
  private readonly lastFlags = computed(() => [this.flags.marks, this.bookmarks.list.value]);

  protected override readonly topics: Topics = {
    set: () => JSON.stringify([this.set, this.setName]),
    device: () => this.device.device,
    axis: () => this.axis,
    filter: () => this.filterAsIf,
    cursors: () => this.cursors.now,
    theme: () => this.lastColours.value,
    camera: () => this.plot.seen.value,
    selection: () => this.selection.shown.value,
    compare: () => this.compare.now.value,
    attribution: () => this.attribution.value,
    flags: () => this.lastFlags.value,
    whatIf: () => this.whatIf.changes,
    flame: () => this.flame.restored.value,
  };

  protected override get places(): readonly ViewCommand[] {
    return [...super.places, ...this.pictures.map((id) => `picture.${id}` as const)];
  }

  // --- what panes and pictures know --------------------------------------------------------------------------------

  get comparedWith(): ReadonlySignal<string | null> {
    return this.compare.with;
  }

  get device(): DeviceInfo {
    return this.deviceShown.value;
  }

  get axis(): Axis {
    return this.axisShown.value;
  }

  /** The filter, with the changes of a replay: the picture and the panes show what would then have been. */
  get filterAsIf(): string {
    return both(this.filter, this.whatIf.drawn.value);
  }

  get set(): AllocationSet {
    return this.cursors.set(this.filterAsIf);
  }

  get setName(): string {
    return this.device.events === 0 ? t('when the snapshot was taken') : this.cursors.name(this.axis);
  }

  get grouping(): GroupedBy {
    return (
      this.plot.grouped ?? { by: this.colours.by === 'category' ? 'category' : 'line', attribution: 'mine' }
    );
  }

  get palette(): Palette {
    return this.colours.palette;
  }

  get camera(): Camera {
    return this.plot.camera;
  }

  get bounds(): Extent {
    return this.plot.bounds;
  }

  get selected(): number | null {
    void this.selection.shown.value; // changes with it
    return this.selection.current;
  }

  get highlight(): Highlight {
    void this.selection.shown.value; // changes with it
    return this.plot.highlighted;
  }

  get highlightedBranch(): Branch | null {
    const { highlight } = this;
    return highlight.kind === 'group' ? highlight.branch : null;
  }

  colourOf(allocation: AllocationSummary): Rgb {
    return this.colours.of(allocation);
  }

  colourOfGroup(group: Pick<Group, 'key'>, by: Branch['by'][number]): Rgb | null {
    return this.colours.ofGroup(group, by, this.attribution.value);
  }

  pointAt(what: Branch | null): void {
    this.plot.setHint(what && { kind: 'group', branch: what });
  }

  select(allocation: number, moment: number | null): void {
    this.selection.select(allocation, moment, true);
  }

  step(direction: StepParams['direction']): void {
    this.selection.step(direction);
  }

  highlightArea(key: number | null): void {
    this.selection.highlightArea(key);
  }

  highlightStacks(stacks: ReadonlySet<number>): void {
    this.selection.highlightStacks(stacks);
  }

  highlightGroup(branch: Branch): void {
    this.selection.highlightGroup(branch);
  }

  /** Replays the trace without what a filter finds; null where it can't be replayed. */
  get leaveOut(): ((term: string, name: string) => void) | null {
    return isReplayed(this.info) ? (term, name) => this.whatIf.add(term, name) : null;
  }

  get showSizes(): (() => void) | null {
    if (!isReplayed(this.info)) return null;
    return () => {
      this.whatIf.sizesShown.value = true;
      this.show('whatIf');
    };
  }

  moveTo(x0: number, x1: number, glide: boolean): void {
    const { y0, y1 } = this.plot.target;
    this.plot.moveTo({ x0, x1, y0, y1 }, glide);
  }

  /** Opens the line that allocated something. */
  openLabel({ label }: Pick<AllocationSummary, 'label'>): void {
    if (hasSource(label)) this.openFrame(label, false);
    else this.say(NO_FRAME);
  }

  openSelected(beside: boolean): void {
    const { answer, line } = this.selection;
    const label = answer?.allocation.label ?? null;
    if (hasSource(label)) this.openFrame(label, beside);
    else if (line) this.openFrame(line, beside);
    else if (answer) this.say(NO_FRAME);
  }

  toggleHeight(): void {
    this.plot.setHold(!this.plot.holdsHeight);
    this.holds.value = this.plot.holdsHeight;
    this.say(this.plot.holdsHeight ? t('The height is fixed') : t('The height adapts to the view'));
  }

  showPicture(id: PictureId): void {
    batch(() => {
      this.picture.value = this.pictures.includes(id) ? id : 'stacked';
      this.arrange({ dockTall: false });
    });
  }

  override showComparison(): void {
    this.showPicture('compare');
    super.showComparison();
  }

  /** Shows the evidence of a sentence: its moments, and the pane that has it, with its row selected or by its filter. */
  override showEvidence({ pane, of, by, event, allocation }: Evidence): void {
    const { cursors, selection } = this;
    if (of.device !== this.device.device) this.switchDevice(of.device);
    const isRow = (pane === 'liveSet' || pane === 'steps') && by !== null && of.filter !== '';
    this.setFilter(isRow ? '' : of.filter);
    const { from_moment: from, to_moment: to } = of;
    if (from !== null && to !== null) cursors.span(from, to, of.kind);
    else if (from === null || from === this.deviceOf(of.device).peak_moment) cursors.setScope('peak');
    else cursors.place(from);
    this.show(pane, { by, event, ...(isRow ? { row: of.filter } : {}) });
    if (allocation !== null) selection.select(allocation, from, true);
  }

  // --- which device, along which axis, and what of it --------------------------------------------------------------

  /** A device without a filter. */
  deviceOf(device: number): DeviceInfo {
    const found = this.info.devices.find((each) => each.device === device) ?? this.info.devices[0];
    if (!found) throw new Error(`The snapshot has no device ${device}.`);
    return found;
  }

  peak(): { x: number; bytes: number } | null {
    const x = peakAt(this.device, this.axis);
    return x === null ? null : { x, bytes: this.device.peak_bytes };
  }

  toggleAxis(): void {
    if (hasTimes(this.device)) this.turnTo(this.device, this.axis === 'time' ? 'event' : 'time', null);
  }

  setAxis(axis: Axis): void {
    if (axis !== this.axis) this.toggleAxis();
  }

  nextDevice(): void {
    const { devices } = this.info;
    const at = devices.findIndex(({ device }) => device === this.device.device);
    const next = devices[(at + 1) % devices.length];
    if (!next || next.device === this.device.device) return;
    this.switchDevice(next.device);
    this.say(said(next.name));
  }

  switchDevice(device: number): void {
    this.ask(device, this.filter, (info) => this.turnTo(info, this.axis, null));
  }

  turnTo(device: DeviceInfo, axis: Axis, camera: Camera | null): void {
    const { selection, cursors } = this;
    const other = !this.started || device.device !== this.device.device;
    const selected = other ? null : selection.current;
    this.started = true;
    batch(() => {
      this.deviceShown.value = device;
      this.axisShown.value = axis === 'time' && hasTimes(device) ? 'time' : 'event';
      this.draw(camera);
      if (other) {
        selection.clear();
        cursors.turnTo(device.device, null);
      } else if (selected !== null) selection.select(selected, null, true);
    });
  }

  goTo(state: TimelineState): void {
    this.plot.setHold(state.holdHeight);
    this.holds.value = state.holdHeight;
    this.areas.goTo(state);
    this.filtering.write(state.filter);
    const arrive = (device: DeviceInfo): void => {
      batch(() => this.arrive(state, device));
    };
    const { filter, device } = this;
    if (state.device === device.device && state.filter === filter) arrive(device);
    else this.ask(state.device, state.filter, arrive);
  }

  /** `device` is as the filter leaves it. */
  private arrive(state: TimelineState, device: DeviceInfo): void {
    const { cursors, selection, plot } = this;
    const here = device === this.device && state.axis === this.axis;
    this.filtering.held.value = state.filter;
    if (here) plot.moveTo(state, true);
    else this.turnTo(device, state.axis, state);
    if (momentsOf(cursors.state) !== momentsOf(state)) cursors.turnTo(device.device, state);
    this.flame.restore(state.flame);
    this.compare.goTo(state.compare);
    if (state.picture !== this.picture.value) this.showPicture(state.picture);
    this.show(state.pane);
    if (state.selection === null) selection.clear();
    else if (!here || state.selection !== selection.current) selection.select(state.selection, null, false);
  }

  protected override narrow(filter: string): void {
    if (filter !== this.filter)
      this.ask(this.device.device, filter, (device) => this.narrowTo(filter, device));
  }

  /** Other changes of a replay: the timeline is drawn with them, and the pane replays. */
  private change(): void {
    this.show('whatIf');
    const { filter } = this;
    this.ask(this.device.device, filter, (device) => {
      this.narrowTo(filter, device);
      this.say(
        this.whatIf.drawn.value === ''
          ? t('As recorded')
          : t('With the changes at most {0} are allocated', bytes(device.peak_bytes)),
      );
    });
  }

  /**
   * Asks what a filter and changes of a replay leave of a device. Without both it is known; where the changes mean nothing
   * on the device it is shown as recorded.
   */
  private ask(
    device: number,
    filter: string,
    use: (info: DeviceInfo) => void,
    changes = this.whatIf.terms,
  ): void {
    const text = both(filter, changes);
    const show = (info: DeviceInfo): void =>
      batch(() => {
        if (changes !== this.whatIf.drawn.value) this.names.forget();
        this.whatIf.drawn.value = changes;
        use(info);
      });
    if (text === '') {
      show(this.deviceOf(device));
      return;
    }
    this.narrowBy(
      filter,
      device,
      this.api.request('memlens/filter', { device, filter: text }),
      ({ info, of_allocations: every }) => {
        show(info);
        if (filter !== '') this.filtering.fits(info.allocations, every);
        return info.allocations;
      },
      changes === '' ? undefined : () => this.ask(device, filter, use, ''),
    );
  }

  /** Another filter on the same device: the same range of the run, as high as what is left. */
  private narrowTo(filter: string, device: DeviceInfo): void {
    const { x0, x1 } = this.plot.target;
    batch(() => {
      this.filtering.held.value = filter;
      this.deviceShown.value = device;
      this.draw({ x0, x1, y0: 0, y1: deviceExtent(device, this.axis).top });
      this.selection.refresh();
    });
    const { allocations } = device;
    this.say(
      filter === ''
        ? t('No filter')
        : plural(allocations, '{0} allocation matches the filter', '{0} allocations match the filter'),
    );
  }

  private draw(camera: Camera | null): void {
    this.plot.show(this.device, this.axis, camera);
  }
}

function momentsOf({ scope, kind, first, second }: CursorState): string {
  return JSON.stringify([scope, kind, first, second]);
}
