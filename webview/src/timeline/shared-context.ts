// The view as its panes and pictures know it.

import type {
  AllocationSet,
  AllocationSummary,
  Branch,
  DeviceInfo,
  Frame,
  Group,
  GroupedBy,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { t } from '../base/l10n';
import type { KeptAttribution } from '../shell/attribution';
import type { Colours } from './scene/colours';
import type { Compare } from '../compare/comparison';
import type { TimelineContext } from './context';
import type { Cursors } from './cursors';
import type { Flags } from './flags';
import type { KeptFlame } from '../flame/settings';
import type { Plot } from './plot';
import type { Preference } from './render/create';
import type { Camera, Extent } from '../canvas/camera';
import type { Rgb } from '../canvas/colour';
import type { Names } from '../base/names';
import type { Highlight } from './scene/paint';
import type { Palette } from '../canvas/palette';
import type { Axis } from '../base/devices';
import type { Selection, Step } from './selection';
import type { Sources } from './sources';
import type { WhatIf } from './what-if';

export interface ContextOwner {
  readonly device: DeviceInfo;
  readonly axis: Axis;
  readonly filter: string;
  readonly compare: Compare;
  readonly attribution: KeptAttribution;
  readonly flame: KeptFlame;
  readonly colours: Colours;
  readonly sources: Sources;
  readonly whatIf: WhatIf;
  setFilter(filter: string): void;
  switchDevice(device: number): void;
  setAxis(axis: Axis): void;
  say(text: string): void;
  failed(error: unknown): void;
}

interface Used {
  readonly names: Names;
  readonly plot: Plot;
  readonly selection: Selection;
  readonly cursors: Cursors;
  readonly flags: Flags;
  readonly prefer: Preference;
}

export class SharedContext implements TimelineContext {
  readonly names: Names;
  readonly cursors: Cursors;
  readonly flags: Flags;
  readonly timeline = this;

  constructor(
    readonly api: Api,
    readonly info: TimelineInfo,
    private readonly used: Used,
    private readonly owner: ContextOwner,
  ) {
    this.names = used.names;
    this.cursors = used.cursors;
    this.flags = used.flags;
  }

  get device(): DeviceInfo {
    return this.owner.device;
  }

  get axis(): Axis {
    return this.owner.axis;
  }

  get filter(): string {
    return this.owner.filter;
  }

  get grouping(): GroupedBy {
    const { plot } = this.used;
    return (
      plot.grouped ?? { by: this.owner.colours.by === 'category' ? 'category' : 'line', attribution: 'mine' }
    );
  }

  get set(): AllocationSet {
    return this.cursors.set(this.filter);
  }

  get setName(): string {
    return this.device.events === 0 ? t('when the snapshot was taken') : this.cursors.name(this.axis);
  }

  get compare(): Compare {
    return this.owner.compare;
  }

  get attribution(): KeptAttribution {
    return this.owner.attribution;
  }

  get flame(): KeptFlame {
    return this.owner.flame;
  }

  get whatIf(): WhatIf {
    return this.owner.whatIf;
  }

  get renderer(): Preference {
    return this.used.prefer;
  }

  get palette(): Palette {
    return this.owner.colours.palette;
  }

  get camera(): Camera {
    return this.used.plot.camera;
  }

  get bounds(): Extent {
    return this.used.plot.bounds;
  }

  get selected(): number | null {
    return this.used.selection.current;
  }

  get highlight(): Highlight {
    return this.used.plot.highlighted;
  }

  get litBranch(): Branch | null {
    const { highlight } = this;
    return highlight.kind === 'group' ? highlight.branch : null;
  }

  colourOf(allocation: AllocationSummary): Rgb {
    return this.owner.colours.of(allocation);
  }

  colourOfGroup(group: Pick<Group, 'key'>, by: Branch['by'][number]): Rgb | null {
    return this.owner.colours.ofGroup(group, by, this.attribution.value);
  }

  pointAt(what: Branch | null): void {
    this.used.plot.setHint(what && { kind: 'group', branch: what });
  }

  select(allocation: number, moment: number | null): void {
    this.used.selection.select(allocation, moment, true);
  }

  step(direction: Step): void {
    this.used.selection.step(direction);
  }

  lightArea(key: number | null): void {
    this.used.selection.lightArea(key);
  }

  lightStacks(stacks: ReadonlySet<number>): void {
    this.used.selection.lightStacks(stacks);
  }

  lightGroup(branch: Branch): void {
    this.used.selection.lightGroup(branch);
  }

  openFrame(frame: Frame, beside: boolean): void {
    this.owner.sources.open(frame, beside);
  }

  setFilter(filter: string): void {
    this.owner.setFilter(filter);
  }

  leaveOut(term: string, name: string): void {
    this.owner.whatIf.add(term, name);
  }

  switchDevice(device: number): void {
    this.owner.switchDevice(device);
  }

  setAxis(axis: Axis): void {
    this.owner.setAxis(axis);
  }

  moveTo(x0: number, x1: number, glide: boolean): void {
    const { y0, y1 } = this.used.plot.target;
    this.used.plot.moveTo({ x0, x1, y0, y1 }, glide);
  }

  say(text: string): void {
    this.owner.say(text);
  }

  failed(error: unknown): void {
    this.owner.failed(error);
  }
}
