// A profile's view as its panes know it: no device, no moments, and a value of the profile in the place of bytes.

import type { CompareState } from '../../../extension/shared/messages';
import type {
  AllocationSet,
  AllocationSummary,
  DeviceInfo,
  Frame,
  ProfileInfo,
  ProfileValue,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { KeptAttribution } from '../shell/attribution';
import type { Colours } from '../timeline/scene/colours';
import { Compare, type OwnProfile } from '../compare/comparison';
import { said, t } from '../base/l10n';
import { baseName } from '../base/paths';
import type { ViewContext } from '../shell/context';
import { Cursors } from '../timeline/cursors';
import { Flags } from '../timeline/flags';
import type { KeptFlame } from '../flame/settings';
import type { Camera, Extent } from '../canvas/camera';
import type { Rgb } from '../canvas/colour';
import { Names } from '../base/names';
import type { Highlight } from '../timeline/scene/paint';
import type { Palette } from '../canvas/palette';
import type { Axis } from '../base/devices';
import type { TimeRange } from './range';

const NOWHERE: Extent & Camera = { x0: 0, x1: 1, y0: 0, y1: 1, top: 1, minWidth: 1, minHeight: 1 };

export interface ProfileOwner {
  readonly value: number;
  readonly filter: string;
  readonly range: TimeRange | null;
  /** The range in words; null for the whole of the profile. */
  readonly rangeName: string | null;
  readonly colours: Colours;
  readonly flame: KeptFlame;
  readonly attribution: KeptAttribution;
  /** What was compared when the view was last open. */
  readonly compared: CompareState | null;
  setValue(value: number): void;
  comparisonChanged(): void;
  setFilter(filter: string): void;
  open(frame: Frame, beside: boolean): void;
  say(text: string): void;
  failed(error: unknown): void;
}

export class ProfileContext implements ViewContext {
  readonly names = new Names();
  readonly device: DeviceInfo;
  readonly axis: Axis = 'event';
  readonly cursors: Cursors;
  readonly flags: Flags;
  readonly compare: Compare;
  readonly renderer = 'auto';
  readonly camera: Camera = NOWHERE;
  readonly bounds: Extent = NOWHERE;
  readonly selected = null;
  readonly highlight: Highlight = { kind: 'none' };

  constructor(
    readonly api: Api,
    readonly info: ProfileInfo,
    private readonly owner: ProfileOwner,
  ) {
    this.device = standIn(info);
    const failed = (error: unknown): void => owner.failed(error);
    this.cursors = new Cursors(api, { changed: () => undefined, failed, filter: () => owner.filter });
    this.flags = new Flags(api, info, () => undefined, failed);
    const own = (): ProfileValue => this.value;
    const compared: OwnProfile = {
      model: 'profile',
      info,
      get value(): ProfileValue {
        return own();
      },
      setValue: (value: number) => owner.setValue(value),
    };
    const changed = (): void => owner.comparisonChanged();
    this.compare = new Compare(api, baseName(info.path), owner.compared, changed, compared);
  }

  get value(): ProfileValue {
    const { values, default_value: first } = this.info;
    const value = values[this.owner.value] ?? values[first];
    if (!value) throw new Error('The profile has no values.');
    return value;
  }

  get filter(): string {
    return this.owner.filter;
  }

  get set(): AllocationSet {
    const { filter, value, range } = this.owner;
    const { kind, from, to } = range ?? { kind: 'live' as const, from: null, to: null };
    return { device: 0, kind, from_moment: from, to_moment: to, filter, value };
  }

  get setName(): string {
    if (this.owner.rangeName !== null) return this.owner.rangeName;
    const title = said(this.value.title);
    return title.charAt(0).toLowerCase() + title.slice(1);
  }

  get attribution(): KeptAttribution {
    return this.owner.attribution;
  }

  get flame(): KeptFlame {
    return this.owner.flame;
  }

  get palette(): Palette {
    return this.owner.colours.palette;
  }

  colourOfGroup(): null {
    return null;
  }

  pointAt(): void {
    // a profile has no picture of single groups
  }

  colourOf(allocation: AllocationSummary): Rgb {
    return this.owner.colours.of(allocation);
  }

  openFrame(frame: Frame, beside: boolean): void {
    this.owner.open(frame, beside);
  }

  setFilter(filter: string): void {
    this.owner.setFilter(filter);
  }

  say(text: string): void {
    this.owner.say(text);
  }

  failed(error: unknown): void {
    this.owner.failed(error);
  }

  momentAt(): number {
    return 0;
  }

  // A profile has no allocations in a picture, no devices and no axes.
  select(): void {
    this.owner.say(t('A profile has no individual allocations.'));
  }

  step(): void {
    this.select();
  }

  lightStacks(): void {
    return undefined;
  }

  lightGroup(): void {
    return undefined;
  }

  switchDevice(): void {
    return undefined;
  }

  setAxis(): void {
    return undefined;
  }

  moveTo(): void {
    return undefined;
  }
}

/** What panes take for the device. */
function standIn({ values, default_value: first, samples }: ProfileInfo): DeviceInfo {
  const total = values[first]?.total ?? 0;
  return {
    name: { text: t('Profile'), template: '', values: {} },
    ...{ device: 0, events: 0, allocations: samples, ooms: 0, reserved_at_end_bytes: 0 },
    ...{ peak_bytes: total, peak_moment: 0, peak_time_us: null, live_at_start_bytes: total },
    ...{ live_at_end_bytes: total, live_at_end_count: samples, event_axis: { x0: 0, x1: 1 } },
    ...{ time_axis: null, time_origin_us: null },
  };
}
