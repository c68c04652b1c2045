// What the view is about: a device, along an axis, and what a filter leaves of it; and how another takes its place.

import type { TimelineState } from '../../../extension/shared/messages';
import type { DeviceInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { type Axis, hasHistory, hasTimes } from '../base/devices';
import { bytes, deviceFigures } from '../base/format';
import { plural, said, t } from '../base/l10n';
import { visible } from '../base/text';
import type { Camera } from '../canvas/camera';
import type { Change } from '../shell/context';
import { Narrowing } from '../shell/narrowing';
import { deviceExtent, peakAt } from './state';
import type { Parts } from './parts';

interface SubjectOwner {
  readonly parts: Parts;
  readonly arrangement: { readonly shown: unknown };
  changed(...changes: readonly Change[]): void;
  cursorsChanged(): void;
  rearranged(): void;
  failed(error: unknown): void;
  say(text: string): void;
}

export class Subject {
  /** With the figures of what the filter leaves of it. */
  device: DeviceInfo;
  filter = '';
  axis: Axis;
  readonly model = 'timeline';
  /** Whether a device has been shown. */
  private started = false;
  private readonly narrowing: Narrowing;

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    private readonly info: TimelineInfo,
    { device, axis }: Pick<TimelineState, 'device' | 'axis'>,
    private readonly owner: SubjectOwner,
  ) {
    this.device = this.deviceOf(device);
    this.axis = axis;
    this.narrowing = new Narrowing((error) => owner.failed(error));
  }

  /** They ask for the device while they are made. */
  private get parts(): Parts {
    return this.owner.parts;
  }

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
    if (hasTimes(this.device)) this.show(this.device, this.axis === 'time' ? 'event' : 'time', null);
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
    this.owner.say(said(next.name));
  }

  switchDevice(device: number): void {
    this.narrow(device, this.filter, (info) => this.show(info, this.axis, null));
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    this.parts.filterBox.show(text);
    this.narrowing.cancel();
    if (text === this.filter) return;
    this.narrow(this.device.device, text, (info) => this.narrowTo(text, info));
  }

  /** Uses a device as a kept state has it, with its filter. */
  restore(device: number, filter: string, use: (device: DeviceInfo) => void): void {
    this.narrowing.cancel();
    this.parts.filterBox.show(filter);
    const arrive = (info: DeviceInfo): void => {
      this.filter = filter;
      use(info);
    };
    if (device === this.device.device && filter === this.filter) arrive(this.device);
    else this.narrow(device, filter, arrive);
  }

  show(device: DeviceInfo, axis: Axis, camera: Camera | null): void {
    const { owner } = this;
    const { data, minimap, cursors, selection, summary } = this.parts;
    const first = !this.started;
    this.started = true;
    const other = device.device !== this.device.device;
    const selected = other ? null : selection.current;
    this.device = device;
    this.axis = axis === 'time' && hasTimes(device) ? 'time' : 'event';
    this.draw(camera);
    if (other || first) {
      selection.clear();
      cursors.turnTo(device.device, null);
      data.turnTo(device.device);
      summary.turnTo(device.device);
    } else if (selected !== null) selection.select(selected, null, true);
    // Without a history there is no run to give an overview of.
    minimap.hidden.value = !hasHistory(device);
    if (device.events > 0) data.fetchOverview(this.axis, minimap.columns);
    this.showFigures();
    this.showFlags();
    owner.changed('device', 'axis');
    owner.cursorsChanged();
    owner.rearranged();
    if (owner.arrangement.shown) summary.find();
  }

  showFlags(): void {
    const { plot, minimap, flags } = this.parts;
    const marked = flags.of(this.device.device, this.axis);
    plot.setFlags(marked);
    minimap.setFlags(marked);
  }

  showFigures(): void {
    const { device } = this;
    const figures = deviceFigures(device);
    if (this.filter !== '') {
      const { peak_bytes: whole } = this.deviceOf(device.device);
      figures.unshift(t('Of what matches the filter:'));
      figures.push(t('without it: peak {0}', bytes(whole)));
    }
    this.parts.frame.status.value = visible(figures.join('  ·  '));
    this.parts.plot.setLabel(
      t('{0}: memory over time. {1}. Press ? for the keys.', said(device.name), figures.join(', ')),
    );
  }

  /** Asks what a filter leaves of a device; without a filter that is known. */
  private narrow(device: number, filter: string, use: (info: DeviceInfo) => void): void {
    if (filter === '') {
      use(this.deviceOf(device));
      return;
    }
    const box = this.parts.filterBox;
    this.narrowing.ask(box, this.api.request('memlens/filter', { device, filter }), (answer) => {
      use(answer.info);
      box.fits(answer.info.allocations, answer.of_allocations);
      if (answer.info.allocations === 0) {
        this.narrowing.explain(box, this.api.request('memlens/filterMatches', { device, filter }));
      }
    });
  }

  /** Another filter on the same device: the same range of the run, as high as what is left. */
  private narrowTo(filter: string, device: DeviceInfo): void {
    const { data, minimap, plot, selection } = this.parts;
    const { x0, x1 } = plot.target;
    this.filter = filter;
    this.device = device;
    this.draw({ x0, x1, y0: 0, y1: deviceExtent(device, this.axis).top });
    data.turnTo(device.device);
    if (device.events > 0) data.fetchOverview(this.axis, minimap.columns);
    this.showFigures();
    selection.refresh();
    this.owner.changed('filter');
    const { allocations } = device;
    this.owner.say(
      filter === ''
        ? t('No filter')
        : plural(allocations, '{0} allocation matches the filter', '{0} allocations match the filter'),
    );
    this.owner.rearranged();
  }

  private draw(camera: Camera | null): void {
    const { plot, hover } = this.parts;
    // Other pictures say themselves when they are not there yet.
    this.root.dataset['state'] = this.owner.arrangement.shown ? 'ready' : 'loading';
    plot.show(this.device, this.axis, camera);
    hover.reset();
  }
}
