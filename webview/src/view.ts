// A snapshot's view: puts the parts together and passes between them.

import type { ViewState } from '../../extension/shared/messages';
import type { Geometry } from '../../extension/shared/geometry';
import type { AllocationSummary, DeviceInfo, Frame, SnapshotInfo } from '../../extension/shared/protocol.gen';
import { RequestError, type Api, type HostMessage } from './api';
import { runAction, type Commanded } from './commands';
import { DeviceData } from './device-data';
import { gestures, type Gestured } from './gestures';
import { Hover } from './hover';
import { actionOf, type Action } from './input/keys';
import { PointerInput } from './input/pointer';
import { Plot } from './plot';
import type { Camera } from './scene/camera';
import type { Rgb } from './scene/colour';
import { Names } from './scene/names';
import { colourOf, type Palette } from './scene/paint';
import { hasTimes, peakAt, restoreLayout, restoreState, type Axis } from './scene/state';
import { Selection } from './selection';
import { exposeForTests } from './test-hook';
import { debounce, replace, setText } from './ui/dom';
import { bandTexts, bytes, deviceFigures, hasSource, nameOf } from './ui/format';
import { ViewFrame } from './ui/frame';
import { Help } from './ui/help';
import { legend } from './ui/legend';
import { Minimap } from './ui/minimap';
import { Panel, sameStackSentence } from './ui/panel';
import { LiveTable } from './ui/table';
import { paletteOf, readTheme, watchTheme, type Theme } from './ui/theme';
import { Toolbar } from './ui/toolbar';
import { Tooltip } from './ui/tooltip';
import { warningStrip } from './ui/warnings';

const SAVE_AFTER_MS = 250;
const LARGEST_SHOWN = 12;

export class SnapshotView implements Commanded, Gestured {
  readonly plot: Plot;
  readonly selection: Selection;
  private device: DeviceInfo;
  private axis: Axis;
  private colour: ViewState['colour'];
  private tableOpen: boolean;
  private theme: Theme = readTheme();
  private palette: Palette;
  private largest: AllocationSummary[] = [];

  private readonly names = new Names();
  private readonly tooltip = new Tooltip();
  private readonly help = new Help();
  private readonly minimap: Minimap;
  private readonly toolbar: Toolbar;
  private readonly panel: Panel;
  private readonly table: LiveTable;
  private readonly data: DeviceData;
  private readonly hover: Hover;
  private readonly pointer: PointerInput;
  private readonly frame: ViewFrame;
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
    this.tableOpen = state.panel === 'table';
    this.palette = paletteOf(this.theme, this.colour, info.categories);

    const run = (action: Action): void => {
      runAction(action, this);
    };
    this.plot = this.makePlot();
    this.minimap = new Minimap((camera, glide) => {
      this.plot.moveTo(camera, glide);
    });
    this.toolbar = new Toolbar(
      info.devices,
      info.categories.length > 0,
      run,
      (device) => {
        this.show(this.deviceOf(device), this.axis, null);
      },
      () => {
        this.frame.set({ warningsOpen: !this.frame.current.warningsOpen });
      },
    );
    this.panel = new Panel({
      run,
      open: (frame, beside) => {
        this.openFrame(frame, beside);
      },
      select: (allocation) => {
        this.selection.select(allocation, null, true);
      },
    });
    this.table = this.makeTable();
    this.data = this.makeData();
    this.selection = this.makeSelection();
    this.hover = new Hover({
      api,
      plot: this.plot,
      names: this.names,
      tooltip: this.tooltip,
      device: () => this.device,
      axis: () => this.axis,
      palette: () => this.palette,
      categories: info.categories,
    });
    this.pointer = new PointerInput(this.plot.surface, gestures(this));
    const warnings = warningStrip(info.warnings, () => {
      this.frame.set({ warningsOpen: false });
    });
    this.frame = new ViewFrame(
      root,
      {
        toolbar: this.toolbar.root,
        warnings,
        minimap: this.minimap.root,
        plot: this.plot.root,
        table: this.table.root,
        panel: this.panel.root,
        tooltip: this.tooltip.root,
        help: this.help.root,
      },
      restoreLayout(saved?.layout, root.clientWidth),
      () => {
        this.arrange();
      },
    );
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
    if (state.selection !== null) this.selection.select(state.selection, null, false);
  }

  dispose(): void {
    this.stop.abort();
    this.saveSoon.cancel();
    this.plot.dispose();
  }

  receive(message: HostMessage): void {
    switch (message.type) {
      case 'showLine':
        this.frame.set({ panelOpen: true });
        this.selection.showLine(message.file, message.line);
        return;
      case 'showAllocation':
        this.frame.set({ panelOpen: true });
        this.selection.select(message.allocation, null, true);
        this.selection.zoomTo(message.allocation);
        return;
      case 'sourceMissing':
        this.frame.set({ panelOpen: true });
        this.panel.sourceMissing(message.file, message.line, message.lookedFor);
        return;
      case 'command':
        runAction(message.command, this);
        return;
      default:
        return;
    }
  }

  // --- what actions need -------------------------------------------------------------------------------------------

  peak(): { x: number; bytes: number } | null {
    const x = peakAt(this.device, this.axis);
    return x === null ? null : { x, bytes: this.device.peak_bytes };
  }

  toggleAxis(): void {
    if (hasTimes(this.device)) this.show(this.device, this.axis === 'time' ? 'event' : 'time', null);
  }

  toggleColour(): void {
    if (this.info.categories.length === 0) return;
    this.colour = this.colour === 'stack' ? 'category' : 'stack';
    this.setTheme();
    this.saveSoon();
  }

  toggleTable(): void {
    this.tableOpen = !this.tableOpen;
    this.arrange();
    if (this.tableOpen) {
      if (this.table.isEmpty) this.table.show(null);
    } else this.plot.surface.focus({ preventScroll: true });
  }

  togglePanel(): void {
    this.frame.set({ panelOpen: !this.frame.current.panelOpen });
  }

  toggleBoxTool(): void {
    this.pointer.boxTool = !this.pointer.boxTool;
    this.plot.surface.classList.toggle('box-tool', this.pointer.boxTool);
    this.arrange();
  }

  toggleHelp(): void {
    this.help.toggle();
  }

  nextDevice(): void {
    const { devices } = this.info;
    const next = devices[(devices.indexOf(this.device) + 1) % devices.length];
    if (next && next !== this.device) {
      this.show(next, this.axis, null);
      this.say(`Device ${next.device}`);
    }
  }

  openSource(beside: boolean): void {
    const { answer, line } = this.selection;
    const label = answer?.allocation.label ?? null;
    if (hasSource(label)) this.openFrame(label, beside);
    else if (line) this.api.post({ type: 'openSource', file: line.file, line: line.line, beside });
    else if (answer) this.say('The file has no Python frame for this allocation.');
  }

  giveUp(): boolean {
    if (this.pointer.giveUp()) return true;
    if (!this.pointer.boxTool) return false;
    this.toggleBoxTool();
    return true;
  }

  // --- what gestures need ------------------------------------------------------------------------------------------

  hoverAt(at: { x: number; y: number } | null): void {
    this.hover.move(at);
  }

  picked(moment: number): void {
    this.table.setClicked(moment);
  }

  openLabel(allocation: AllocationSummary): void {
    if (hasSource(allocation.label)) this.openFrame(allocation.label, false);
    else this.say('The file has no Python frame for this allocation.');
  }

  boxUsed(): void {
    if (this.pointer.boxTool) this.toggleBoxTool();
  }

  // --- devices, axes, colours --------------------------------------------------------------------------------------

  private show(device: DeviceInfo, axis: Axis, camera: Camera | null): void {
    const other = device !== this.device;
    const selected = other ? null : this.selection.current;
    this.device = device;
    this.axis = axis === 'time' && hasTimes(device) ? 'time' : 'event';
    this.root.dataset['state'] = 'loading';
    this.plot.show(device, this.axis, camera);
    this.hover.reset();
    if (other || this.largest.length === 0) {
      this.largest = [];
      this.selection.clear();
      this.table.forget();
      this.data.turnTo(device.device);
      if (this.tableOpen) this.table.show(null);
    } else if (selected !== null) this.selection.select(selected, null, true);
    this.data.fetchOverview(this.axis, this.minimap.columns);
    this.describe();
    this.arrange();
  }

  private setTheme(): void {
    this.theme = readTheme();
    this.palette = paletteOf(this.theme, this.colour, this.info.categories);
    this.plot.setTheme(this.theme, this.palette);
    this.minimap.setTheme(this.theme);
    this.table.recolour((allocation) => this.names.allocation(allocation));
    if (this.selection.answer)
      this.panel.showStack(this.selection.answer, this.colourOf(this.selection.answer.allocation));
    else if (this.selection.current === null && !this.selection.line) this.showDevicePanel();
    this.arrange();
  }

  private colourOf(allocation: AllocationSummary): Rgb {
    const category = allocation.category === null ? -1 : this.info.categories.indexOf(allocation.category);
    return colourOf(allocation.stack, category, this.palette);
  }

  /** Sets what depends on the state without asking the server. */
  private arrange(): void {
    const layout = this.frame.current;
    this.frame.apply(this.tableOpen, this.info.warnings.length > 0);
    this.toolbar.update({
      device: this.device.device,
      axis: this.axis,
      colour: this.colour,
      hasTimes: hasTimes(this.device),
      table: this.tableOpen,
      panel: layout.panelOpen,
      boxTool: this.pointer.boxTool,
      warningsHidden: layout.warningsOpen ? 0 : this.info.warnings.length,
    });
    const byCategory = this.colour === 'category';
    replace(
      this.frame.legend,
      byCategory &&
        legend(this.info.categories, this.palette.categories, this.selection.category, (category) => {
          this.selection.lightCategory(category);
          this.arrange();
        }),
    );
    this.saveSoon();
  }

  private describe(): void {
    const parts = deviceFigures(this.device);
    setText(this.frame.status, parts.join('  ·  '));
    this.plot.setLabel(
      `Memory of device ${this.device.device} over time. ${parts.join(', ')}. Press ? for the keys.`,
    );
  }

  private failed(error: unknown): void {
    if (error instanceof RequestError && error.problem.code === 'cancelled') return;
    const text = error instanceof Error ? error.message : String(error);
    this.say(text);
    this.frame.note.classList.add('error');
  }

  // --- the parts ---------------------------------------------------------------------------------------------------

  private makePlot(): Plot {
    // Set by tests and the bench; the host does not.
    const { prefer } = this.root.dataset;
    return new Plot(
      {
        ask: (request) =>
          this.api.request('memlens/viewport', { device: this.device.device, axis: this.axis, ...request }),
        moved: (camera) => {
          this.minimap.setCamera(camera, this.plot.bounds);
          this.hover.moving();
          this.saveSoon();
        },
        drawn: (geometry) => {
          this.drawn(geometry);
        },
        failed: (error) => {
          this.failed(error);
        },
        busy: (busy) => {
          this.frame.busy.hidden = !busy;
        },
        rendererChanged: () => {
          this.root.dataset['renderer'] = this.plot.rendererKind;
        },
        textsOf: (geometry, band) => this.bandTexts(geometry, band),
      },
      prefer === 'webgl2' || prefer === 'canvas2d' ? prefer : 'auto',
    );
  }

  private makeTable(): LiveTable {
    return new LiveTable(this.info.categories.length > 0, {
      select: (allocation, moment) => {
        this.selection.select(allocation, moment, true);
      },
      fetch: (moment, offset) => {
        this.data.fetchRows(moment, offset);
      },
      colourOf: (allocation) => this.colourOf(allocation),
      close: () => {
        this.toggleTable();
      },
    });
  }

  private makeData(): DeviceData {
    return new DeviceData(this.api, this.names, {
      overview: (answer) => {
        this.minimap.setOverview(answer);
      },
      largest: (rows) => {
        this.largest = rows.slice(0, LARGEST_SHOWN);
        this.plot.renamed();
        if (this.selection.current === null && !this.selection.line) this.showDevicePanel();
      },
      rows: (answer, asked) => {
        this.plot.renamed();
        this.table.add(answer, asked);
      },
      rowsFailed: (error) => {
        this.table.failed(error instanceof Error ? error.message : String(error));
      },
      failed: (error) => {
        this.failed(error);
      },
    });
  }

  private makeSelection(): Selection {
    return new Selection({
      api: this.api,
      plot: this.plot,
      names: this.names,
      axis: () => this.axis,
      device: () => this.device.device,
      switchDevice: (device) => {
        this.show(this.deviceOf(device), this.axis, null);
      },
      waiting: (sizeBytes) => {
        if (!this.frame.current.panelOpen) this.frame.set({ panelOpen: true });
        this.panel.showWaiting(sizeBytes);
        this.table.setSelected(this.selection.current);
        this.arrange();
      },
      shown: (answer) => {
        this.panel.showStack(answer, this.colourOf(answer.allocation));
        this.table.setSelected(answer.allocation.allocation);
        this.hover.refresh();
        const { title, place } = nameOf(answer.allocation);
        const where = place === null ? title : `${title}, ${place}`;
        this.say(
          `${bytes(answer.allocation.size_bytes)}, ${where}. Same stack: ${sameStackSentence(answer.same_stack)}.`,
        );
        this.saveSoon();
      },
      lineShown: (answer) => {
        this.panel.showLine(answer);
        this.say(`Line ${answer.line}: ${sameStackSentence(answer.totals)}.`);
      },
      cleared: () => {
        this.table.setSelected(null);
        this.showDevicePanel();
        this.say('');
        this.arrange();
      },
      failed: (message, advice) => {
        this.panel.showProblem(message, advice);
        this.say(message);
      },
      say: (text) => {
        this.say(text);
      },
    });
  }

  private openFrame(frame: Frame, beside: boolean): void {
    this.api.post({ type: 'openSource', file: frame.file, line: frame.line, beside });
  }

  private key(event: KeyboardEvent): void {
    const { target } = event;
    if (event.defaultPrevented || this.help.root.open) return;
    // Lists and buttons keep the keys that they use themselves.
    if (target instanceof HTMLSelectElement && event.key !== 'Escape') return;
    const pressable = target instanceof HTMLButtonElement;
    if (pressable && (event.key === 'Enter' || event.key === ' ')) return;
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    runAction(action, this);
  }

  private drawn(geometry: Geometry): void {
    this.root.dataset['pictures'] = String(this.plot.pictures);
    this.root.dataset['state'] = 'ready';
    this.frame.coarser.hidden = !geometry.coarser;
    if (this.frame.note.classList.contains('error')) this.say('');
    this.hover.refresh();
  }

  private bandTexts(geometry: Geometry, band: number): readonly string[] {
    const allocation = this.names.allocation(geometry.allocation[band] ?? -1);
    return bandTexts(geometry.size[band] ?? 0, allocation ?? this.names.stack(geometry.stack[band] ?? -1));
  }

  private showDevicePanel(): void {
    this.panel.showDevice(this.device, this.largest, (allocation) => this.colourOf(allocation));
  }

  private say(text: string): void {
    setText(this.frame.live, text);
    setText(this.frame.note, text);
    this.frame.note.classList.remove('error');
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
      panel: this.tableOpen ? 'table' : 'stack',
    };
    this.api.save({ view, layout: this.frame.current });
    this.api.post({ type: 'state', state: view });
  }

  private deviceOf(device: number): DeviceInfo {
    const found = this.info.devices.find((each) => each.device === device) ?? this.info.devices[0];
    if (!found) throw new Error(`The snapshot has no device ${device}.`);
    return found;
  }
}
