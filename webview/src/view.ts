// A snapshot's view: which device, axis and colours are shown, and what follows when that changes.

import type { Geometry } from '../../extension/shared/geometry';
import type { PaneId, PictureId, ViewState } from '../../extension/shared/messages';
import type {
  AllocationSummary,
  DeviceInfo,
  FilterAnswer,
  Frame,
  LineAnswer,
  SnapshotInfo,
  StackAnswer,
} from '../../extension/shared/protocol.gen';
import { RequestError, type Api, type HostMessage, type Pending } from './api';
import { runAction, type Commanded } from './commands';
import { Compare } from './compare';
import { EVERYTHING, type Change } from './context';
import { momentName, momentX, type Cursors } from './cursors';
import { actionOf, type Action } from './input/keys';
import { makeParts, type Parts, type PartsOwner } from './parts';
import type { Picture } from './pictures/picture';
import type { Plot } from './plot';
import type { Camera } from './scene/camera';
import type { Rgb } from './scene/colour';
import { colourOf, type Palette } from './scene/paint';
import { deviceExtent, hasTimes, peakAt, restoreLayout, restoreState, type Axis } from './scene/state';
import type { Selection } from './selection';
import { exposeForTests } from './test-hook';
import { debounce, replace, setText } from './ui/dom';
import { baseName, bytes, counted, deviceFigures, hasSource, nameOf } from './ui/format';
import { legend } from './ui/legend';
import { sameStackSentence } from './ui/panel';
import { paletteOf, readTheme, watchTheme, type Theme } from './ui/theme';

const SAVE_AFTER_MS = 250;
const LARGEST_SHOWN = 12;
const SCROLL_KEYS = /^(Arrow|Page|Home|End)/;
const NO_FRAME = 'The file has no Python frame for this allocation.';

export class SnapshotView implements Commanded, PartsOwner {
  device: DeviceInfo;
  axis: Axis;
  palette: Palette;
  private colour: ViewState['colour'];
  /** Narrows every view; `device` tells of what fits it. */
  filter = '';
  readonly compare: Compare;
  theme: Theme = readTheme();
  private picture: PictureId = 'stacked';
  /** The pane to show when the dock is opened again. */
  private lastPane: PaneId | null = null;
  private largest: AllocationSummary[] = [];
  private narrowing: Pending<FilterAnswer> | null = null;
  private readonly parts: Parts;
  private readonly stop = new AbortController();
  private readonly saveSoon = debounce(SAVE_AFTER_MS, () => {
    this.save();
  });

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    private readonly info: SnapshotInfo,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const state = restoreState(info, hostState ?? saved?.view);
    this.device = this.deviceOf(state.device);
    this.axis = state.axis;
    this.colour = state.colour;
    this.compare = new Compare(api, baseName(info.path), state.compare, () => {
      this.changed('compare');
      this.saveSoon();
    });
    this.palette = paletteOf(this.theme, this.colour, info.categories);
    this.parts = makeParts(api, root, info, restoreLayout(saved?.layout, root.clientWidth), this);
    watchTheme(this.stop.signal, () => {
      this.setTheme();
    });
    window.addEventListener(
      'keydown',
      (event) => {
        this.key(event);
      },
      { signal: this.stop.signal },
    );
    exposeForTests(this.plot);
    root.dataset['renderer'] = this.plot.rendererKind;
    this.setTheme();
    this.show(this.device, this.axis, state);
    this.parts.cursors.turnTo(this.device.device, state);
    this.showPicture(state.picture);
    this.parts.dock.show(state.pane);
    if (state.selection !== null) this.selection.select(state.selection, null, false);
    if (state.filter !== '') this.setFilter(state.filter);
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
    this.stop.abort();
    this.saveSoon.cancel();
    this.parts.dock.dispose();
    this.parts.lanes.dispose();
    for (const picture of this.parts.pictures) picture.dispose?.();
    this.plot.dispose();
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
        this.showPicture('compare');
        this.parts.dock.show('compare');
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
    if (!this.shownPicture?.run?.(action)) runAction(action, this);
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
    if (this.info.categories.length === 0) return;
    this.colour = this.colour === 'stack' ? 'category' : 'stack';
    this.setTheme();
  }

  togglePane(): void {
    const { dock } = this.parts;
    if (dock.shown === null) dock.show(this.lastPane ?? dock.panes[0]?.id ?? null);
    else {
      dock.show(null);
      this.focusPicture();
    }
  }

  toggleTall(): void {
    const { frame, dock } = this.parts;
    if (dock.shown === null) this.togglePane();
    frame.set({ dockTall: !frame.current.dockTall });
  }

  showPane(which: PaneId | number): void {
    const { dock } = this.parts;
    if (typeof which === 'number') dock.showNth(which);
    else dock.show(which);
  }

  showPicture(id: PictureId): void {
    const { pictures, frame } = this.parts;
    const shown = pictures.find((picture) => picture.id === id);
    this.picture = shown?.id ?? 'stacked';
    for (const picture of pictures) {
      if (picture !== shown && !picture.root.hidden) picture.hide();
      picture.root.hidden = picture !== shown;
    }
    this.plot.setHidden(shown !== undefined);
    if (shown) this.root.dataset['state'] = 'ready';
    if (frame.current.dockTall) frame.set({ dockTall: false });
    this.changed(...EVERYTHING);
    this.rearranged();
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    const { filterBox } = this.parts;
    filterBox.show(text);
    this.narrowing?.cancel();
    this.narrowing = null;
    if (text === this.filter) return;
    if (text === '') {
      this.narrowTo('', this.deviceOf(this.device.device));
      return;
    }
    this.narrow(this.device.device, text, (info) => {
      this.narrowTo(text, info);
    });
  }

  focusFilter(): void {
    this.parts.filterBox.focus();
  }

  togglePanel(): void {
    const { frame } = this.parts;
    frame.set({ panelOpen: !frame.current.panelOpen });
  }

  toggleBoxTool(): void {
    const { pointer } = this.parts;
    pointer.boxTool = !pointer.boxTool;
    this.plot.surface.classList.toggle('box-tool', pointer.boxTool);
    this.rearranged();
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
    this.narrow(device, this.filter, (info) => {
      this.show(info, this.axis, null);
    });
  }

  openSource(beside: boolean): void {
    const { answer, line } = this.selection;
    const label = answer?.allocation.label ?? null;
    if (hasSource(label)) this.openFrame(label, beside);
    else if (line) this.api.post({ type: 'openSource', file: line.file, line: line.line, beside });
    else if (answer) this.say(NO_FRAME);
  }

  openLabel(allocation: AllocationSummary): void {
    if (hasSource(allocation.label)) this.openFrame(allocation.label, false);
    else this.say(NO_FRAME);
  }

  openFrame(frame: Frame, beside: boolean): void {
    this.api.post({ type: 'openSource', file: frame.file, line: frame.line, beside });
  }

  giveUp(): boolean {
    const { pointer } = this.parts;
    if (pointer.giveUp()) return true;
    if (!pointer.boxTool) return false;
    this.toggleBoxTool();
    return true;
  }

  // --- what the parts tell -----------------------------------------------------------------------------------------

  moved(camera: Camera): void {
    this.parts.minimap.setCamera(camera, this.plot.bounds);
    this.parts.hover.moving();
    this.changed('camera');
    this.saveSoon();
  }

  cursorsChanged(): void {
    const { cursors } = this.parts;
    const marks = [cursors.first, cursors.second].flatMap((moment) =>
      moment
        ? [{ x: momentX(moment, this.axis, this.plot.bounds.x0), text: momentName(moment, this.axis) }]
        : [],
    );
    this.plot.setMarks(marks);
    this.changed('cursors');
    this.saveSoon();
  }

  drawn(geometry: Geometry): void {
    const { dataset } = this.root;
    dataset['pictures'] = String(this.plot.pictures);
    dataset['state'] = 'ready';
    const { frame, hover } = this.parts;
    frame.coarser.hidden = !geometry.coarser;
    if (frame.note.classList.contains('error')) this.say('');
    hover.refresh();
  }

  flagsKnown(): void {
    this.parts.plot.setFlags(this.parts.flags.of(this.device.device, this.axis));
    this.changed('device');
  }

  boxUsed(): void {
    if (this.parts.pointer.boxTool) this.toggleBoxTool();
  }

  largestKnown(rows: readonly AllocationSummary[]): void {
    this.largest = rows.slice(0, LARGEST_SHOWN);
    if (this.selection.current === null && !this.selection.line) this.showDevicePanel();
  }

  waiting(sizeBytes: number | null): void {
    const { frame, panel } = this.parts;
    if (!frame.current.panelOpen) frame.set({ panelOpen: true });
    panel.showWaiting(sizeBytes);
    this.changed('selection');
    this.rearranged();
  }

  shown(answer: StackAnswer): void {
    const { allocation } = answer;
    this.parts.panel.showStack(answer, this.colourOf(allocation));
    this.changed('selection');
    this.parts.hover.refresh();
    const { title, place } = nameOf(allocation);
    const where = place === null ? title : `${title}, ${place}`;
    this.say(
      `${bytes(allocation.size_bytes)}, ${where}. Same stack: ${sameStackSentence(answer.same_stack)}.`,
    );
    this.saveSoon();
  }

  lineShown(answer: LineAnswer): void {
    this.parts.panel.showLine(answer);
    this.say(`Line ${answer.line}: ${sameStackSentence(answer.totals)}.`);
  }

  cleared(): void {
    this.changed('selection');
    this.showDevicePanel();
    this.say('');
    this.rearranged();
  }

  say(text: string): void {
    const { live, note } = this.parts.frame;
    setText(live, text);
    setText(note, text);
    note.classList.remove('error');
  }

  failed(error: unknown): void {
    if (error instanceof RequestError && error.problem.code === 'cancelled') return;
    this.say(error instanceof Error ? error.message : String(error));
    this.parts.frame.note.classList.add('error');
  }

  colourOf(allocation: AllocationSummary): Rgb {
    const category = allocation.category === null ? -1 : this.info.categories.indexOf(allocation.category);
    return colourOf(allocation.stack, category, this.palette);
  }

  /** Shows what depends on the state and asks the server for nothing. */
  rearranged(): void {
    const { frame, toolbar, pointer, dock } = this.parts;
    const { panelOpen, warningsOpen } = frame.current;
    const { warnings, categories } = this.info;
    const pane = dock.shown;
    this.lastPane = pane ?? this.lastPane;
    frame.apply(pane !== null, warnings.length > 0);
    dock.setTall(frame.current.dockTall);
    toolbar.update({
      device: this.device.device,
      axis: this.axis,
      colour: this.colour,
      hasTimes: hasTimes(this.device),
      picture: this.picture,
      dock: pane !== null,
      panel: panelOpen,
      boxTool: pointer.boxTool,
      warningsHidden: warningsOpen ? 0 : warnings.length,
    });
    const light = (category: number | null): void => {
      this.selection.lightCategory(category);
      this.rearranged();
    };
    replace(
      frame.legend,
      this.colour === 'category' &&
        legend(categories, this.palette.categories, this.selection.category, light),
    );
    this.saveSoon();
  }

  // --- devices, axes, colours --------------------------------------------------------------------------------------

  private show(device: DeviceInfo, axis: Axis, camera: Camera | null): void {
    const { data, hover, minimap, cursors, flags } = this.parts;
    const first = this.largest.length === 0;
    const other = device.device !== this.device.device;
    const selected = other ? null : this.selection.current;
    this.device = device;
    this.axis = axis === 'time' && hasTimes(device) ? 'time' : 'event';
    // Other pictures say themselves when they are not there yet.
    this.root.dataset['state'] = this.shownPicture ? 'ready' : 'loading';
    this.plot.show(device, this.axis, camera);
    hover.reset();
    if (other || first) {
      this.largest = [];
      this.selection.clear();
      cursors.turnTo(device.device, null);
      data.turnTo(device.device);
    } else if (selected !== null) this.selection.select(selected, null, true);
    // Without a trace the run has no extent to find one's way in.
    minimap.root.hidden = device.events === 0;
    if (device.events > 0) data.fetchOverview(this.axis, minimap.columns);
    this.tellFigures();
    this.plot.setFlags(flags.of(device.device, this.axis));
    this.changed('device', 'axis');
    this.cursorsChanged();
    this.rearranged();
  }

  /** Asks what of a device fits a filter; what is wrong with the filter is said at its box. */
  private narrow(device: number, filter: string, use: (info: DeviceInfo) => void): void {
    this.narrowing?.cancel();
    const pending = this.api.request('memlens/filter', { device, filter });
    this.narrowing = pending;
    pending.answer.then(
      ({ info, of_allocations: every }) => {
        if (this.narrowing !== pending) return;
        this.narrowing = null;
        use(info);
        this.parts.filterBox.fits(info.allocations, every);
      },
      (error: unknown) => {
        if (this.narrowing !== pending) return;
        this.narrowing = null;
        const problem = error instanceof RequestError ? error.problem : null;
        if (problem?.code === 'cancelled') return;
        this.parts.filterBox.fails(problem ? `${problem.message}. ${problem.advice}`.trim() : String(error));
      },
    );
  }

  /** Another filter on the same device: the same stretch of the run, as high as what is left. */
  private narrowTo(filter: string, device: DeviceInfo): void {
    const { data, hover, minimap } = this.parts;
    const { x0, x1 } = this.plot.target;
    const y1 = deviceExtent(device, this.axis).top;
    this.filter = filter;
    this.device = device;
    this.root.dataset['state'] = 'loading';
    this.plot.show(device, this.axis, { x0, x1, y0: 0, y1 });
    hover.reset();
    this.largest = [];
    data.turnTo(device.device);
    if (device.events > 0) data.fetchOverview(this.axis, minimap.columns);
    this.tellFigures();
    this.selection.markAgain();
    this.changed('filter');
    const { allocations } = device;
    this.say(filter === '' ? 'No filter' : `${counted(allocations, 'allocation')} fit the filter`);
    this.rearranged();
  }

  private tellFigures(): void {
    const { device } = this;
    const figures = deviceFigures(device);
    if (this.filter !== '') figures.unshift('Of what fits the filter:');
    setText(this.parts.frame.status, figures.join('  ·  '));
    this.plot.setLabel(
      `Memory of ${device.name.toLowerCase()} over time. ${figures.join(', ')}. Press ? for the keys.`,
    );
  }

  private get shownPicture(): Picture | null {
    return this.parts.pictures.find(({ id }) => id === this.picture) ?? null;
  }

  focusPicture(): void {
    const picture = this.shownPicture;
    if (picture) picture.focus();
    else this.plot.surface.focus({ preventScroll: true });
  }

  /** Tells the picture and the pane that are shown. */
  private changed(...changes: Change[]): void {
    this.parts.lanes.update(new Set(changes));
    this.shownPicture?.update(new Set(changes));
    this.parts.dock.update(changes);
  }

  private setTheme(): void {
    const { plot, minimap, panel } = this.parts;
    this.theme = readTheme();
    this.palette = paletteOf(this.theme, this.colour, this.info.categories);
    plot.setTheme(this.theme, this.palette);
    minimap.setTheme(this.theme);
    this.changed('theme');
    const { answer, current, line } = this.selection;
    if (answer) panel.showStack(answer, this.colourOf(answer.allocation));
    else if (current === null && !line) this.showDevicePanel();
    this.rearranged();
  }

  private showDevicePanel(): void {
    this.parts.panel.showDevice(this.device, this.largest, (allocation) => this.colourOf(allocation));
  }

  private key(event: KeyboardEvent): void {
    const { target } = event;
    if (event.defaultPrevented || this.parts.help.root.open) return;
    // Where text is written every key is a letter, or VS Code's.
    if (target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement) return;
    // Lists and buttons keep the keys that they use themselves.
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return;
    if (target instanceof HTMLSelectElement && event.key !== 'Escape') return;
    if (target instanceof HTMLButtonElement && (event.key === 'Enter' || event.key === ' ')) return;
    if (!event.altKey && SCROLL_KEYS.test(event.key) && scrolls(target)) return;
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    this.run(action);
  }

  private save(): void {
    const { x0, x1, y0, y1 } = this.plot.target;
    const view: ViewState = {
      device: this.device.device,
      axis: this.axis,
      x0,
      x1,
      y0,
      y1,
      selection: this.selection.current,
      colour: this.colour,
      picture: this.picture,
      pane: this.parts.dock.shown,
      filter: this.filter,
      ...this.parts.cursors.state,
      compare: this.compare.state,
    };
    this.api.save({ view, layout: this.parts.frame.current });
    this.api.post({ type: 'state', state: view });
  }

  private deviceOf(device: number): DeviceInfo {
    const found = this.info.devices.find((each) => each.device === device) ?? this.info.devices[0];
    if (!found) throw new Error(`The snapshot has no device ${device}.`);
    return found;
  }
}

/** Whether an element stands where those keys scroll, rather than move the picture. */
function scrolls(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('.panel, .dock') !== null;
}
