// The snapshot that this one is compared with, and how: what the picture and the pane of the comparison share.

import type { CompareState, OtherSnapshot } from '../../../extension/shared/messages';
import type {
  Alignment,
  AllocationSet,
  DeviceInfo,
  ProfileInfo,
  ProfileValue,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import { batch, computed, signal } from '@preact/signals';
import type { Api } from '../api';
import type { Pending } from '../base/request';
import type { ComparedSets } from '../flame/source';
import type { ViewContext } from '../shell/context';
import { devicesOf, MODELS, never, profileOf } from '../shell/model';
import type { Axis } from '../base/devices';
import { figure } from '../base/figure';
import { oneOf } from '../base/one-of';
import { said, t } from '../base/l10n';
import { shorten } from '../base/text';

export type CompareSettings = Omit<CompareState, 'uri'>;

/** What rows may be. */
const BYS = ['line', 'function', 'file', 'stack', 'category', 'module', 'package'] as const;

const FIRST: CompareSettings = {
  otherFirst: false,
  device: 0,
  mine: 'set',
  theirs: 'same',
  by: 'line',
  measure: 'own',
  byStep: false,
  offset: 0,
  value: null,
};

/** The one that is open, as the two sides' names and figures are shown. */
export interface OpenOther {
  readonly name: string;
  readonly itself: boolean;
  readonly devices: readonly DeviceInfo[];
  readonly device: DeviceInfo;
}

/** The view's own profile, of which one value is shown. */
export interface OwnProfile {
  readonly model: 'profile';
  readonly info: ProfileInfo;
  readonly value: ProfileValue;
  setValue(value: number): void;
}

/** The view's own trace, of which one device is shown along an axis. */
export interface OwnTimeline {
  readonly model: 'timeline';
  readonly info: TimelineInfo;
  readonly device: DeviceInfo;
  readonly axis: Axis;
}

interface OwnSides {
  readonly graph: { readonly model: 'graph' };
  readonly timeline: OwnTimeline;
  readonly profile: OwnProfile;
}

/** What the view's own snapshot brings into a comparison; each model has its own. */
export type OwnSide = OwnSides[keyof OwnSides];

/** A value that two profiles have, by its number in each. */
export interface SharedValue {
  readonly value: ProfileValue;
  readonly mine: number;
  readonly theirs: number;
}

export interface FoundSets {
  readonly sets: ComparedSets;
  /** The other's moments were found by inferred steps, without annotations. */
  readonly inferredSteps: boolean;
}

/** What a comparison knows of its view. */
export interface CompareContext extends ViewContext {
  readonly compare: Compare;
}

export class Compare {
  private readonly shown = signal<OtherSnapshot | null>(null);
  private readonly chosen = signal<CompareSettings>(FIRST);
  /** Another one each time that something of it changes. */
  readonly now = computed(() => [this.shown.value, this.chosen.value]);
  /** The name of what is compared; null for nothing. */
  readonly with = computed(() => this.shown.value?.name ?? null);
  /** Settings of a snapshot that is not open yet. */
  private restored: CompareState | null;
  /** Whose settings these are. */
  private settingsOf: string | null = null;

  constructor(
    private readonly api: Api,
    /** The file's name of the view's own snapshot. */
    readonly ownName: string,
    restored: CompareState | null,
    readonly own: OwnSide,
  ) {
    this.restored = restored;
  }

  /** What the host reports. */
  receive(other: OtherSnapshot | null): void {
    batch(() => {
      this.shown.value = other;
      // The same one again (the server was restarted) keeps its settings.
      if (other?.is === 'open' && other.uri !== this.settingsOf) this.begin(other);
      if (other === null) {
        this.restored = null;
        this.settingsOf = null;
      }
    });
  }

  get other(): OtherSnapshot | null {
    return this.shown.value;
  }

  get settings(): CompareSettings {
    return this.chosen.value;
  }

  /** As it was somewhere before, if the other file is the same. */
  goTo(state: CompareState | null): void {
    if (state?.uri !== this.settingsOf) return;
    const { uri: _, ...settings } = state;
    if (JSON.stringify(settings) !== JSON.stringify(this.settings)) this.set(settings);
  }

  set(changes: Partial<CompareSettings>): void {
    this.chosen.value = { ...this.settings, ...changes };
  }

  get open(): OpenOther | null {
    const { other } = this;
    if (other?.is !== 'open') return null;
    const devices = devicesOf(other.info);
    const device = devices.find((each) => each.device === this.settings.device) ?? devices[0];
    return device ? { name: other.name, itself: other.itself, devices, device } : null;
  }

  /** The other's profile, while it is open and one. */
  get otherProfile(): ProfileInfo | null {
    const { other } = this;
    return other?.is === 'open' ? profileOf(other.info) : null;
  }

  /** The view's own, where it is a profile. */
  get ownProfile(): OwnProfile | null {
    const { own } = this;
    switch (own.model) {
      case 'timeline':
      case 'graph':
        return null;
      case 'profile':
        return own;
      default:
        return never(own);
    }
  }

  /** The values that both profiles have, in the order of the view's own. */
  get sharedValues(): readonly SharedValue[] {
    const theirs = this.otherProfile?.values ?? [];
    return (this.ownProfile?.info.values ?? []).flatMap((value, mine) => {
      const at = sameValue(value, theirs);
      return at === null ? [] : [{ value, mine, theirs: at }];
    });
  }

  /** The other's values that are measured as the view's is: what may stand beside it. */
  get otherValues(): readonly ProfileValue[] {
    const { ownProfile, otherProfile } = this;
    if (!ownProfile || !otherProfile) return [];
    return otherProfile.values.filter(({ unit }) => unit === ownProfile.value.unit);
  }

  /** The number of the other's value that is compared; null where it has none like the view's. */
  get otherValue(): number | null {
    const { ownProfile, otherProfile, settings } = this;
    if (!ownProfile || !otherProfile) return null;
    const chosen = otherProfile.values.findIndex(
      ({ name, unit }) => name === settings.value && unit === ownProfile.value.unit,
    );
    return chosen >= 0 ? chosen : sameValue(ownProfile.value, otherProfile.values);
  }

  /** The profile whose value the other has nothing like; null where there is something to compare. */
  get lacking(): OwnProfile | null {
    return this.otherValue === null ? this.ownProfile : null;
  }

  /** Whether there is a difference to show: both are open, and measure the same. */
  get isCompared(): boolean {
    return this.other?.is === 'open' && this.unlike === null && this.lacking === null;
  }

  /** Why two that are open can't be compared at all, in a sentence. */
  get unlike(): string | null {
    const { other, own } = this;
    if (other?.is !== 'open') return null;
    const { info } = other;
    const name = shorten(other.name, 60);
    if (info.model !== own.model) return MODELS[own.model].unlike(name, MODELS[info.model].is);
    switch (info.model) {
      case 'timeline':
        return this.open ? null : t('{0} holds no device.', name);
      case 'graph':
        return null;
      case 'profile': {
        if (this.sharedValues.length > 0 || this.otherValues.length > 0) return null;
        const titles = info.values.map(({ title }) => `“${said(title)}”`);
        return t('{0} has no value in common with this profile. It has {1}.', name, titles.join(', '));
      }
      default:
        return never(info);
    }
  }

  /** For the host to keep. */
  get state(): CompareState | null {
    const uri = this.other?.uri;
    return uri === undefined || uri !== this.settingsOf ? this.restored : { ...this.settings, uri };
  }

  alignment(axis: Axis): Alignment {
    const { byStep, offset } = this.settings;
    return { axis, by_step: byStep, offset };
  }

  /** The sides' names in the order in which they are shown, "before" first. */
  get names(): { before: string; after: string } {
    const { own } = this;
    switch (own.model) {
      case 'timeline':
        return this.namesWithDevices(own.device);
      case 'profile':
      case 'graph':
        return this.inOrder(this.ownName, this.other?.name ?? '');
      default:
        return never(own);
    }
  }

  private namesWithDevices(device: DeviceInfo): { before: string; after: string } {
    const { open } = this;
    if (!open) return { before: this.ownName, after: '' };
    const mark = (name: string, side: DeviceInfo, all: readonly DeviceInfo[]): string =>
      all.length > 1 || open.itself ? `${name} · ${said(side.name)}` : name;
    const mine = mark(this.ownName, device, open.itself ? open.devices : []);
    const theirs = mark(open.name, open.device, open.devices);
    return this.inOrder(mine, theirs);
  }

  private inOrder(mine: string, theirs: string): { before: string; after: string } {
    return this.settings.otherFirst ? { before: theirs, after: mine } : { before: mine, after: theirs };
  }

  /** Which sets are meant; the moments that lie beside each other are asked for where it takes moments. */
  sets(mine: AllocationSet): Pending<FoundSets> {
    const { own } = this;
    switch (own.model) {
      case 'timeline':
        return this.setsOfAllocations(mine, own);
      case 'graph':
        throw new Error('Objects of a heap dump are not sets of allocations.');
      case 'profile':
        return ready(this.setsOfProfile(mine));
      default:
        return never(own);
    }
  }

  /** Two profiles as a whole: a range of one run's time is none of another's. */
  setsOfProfile(mine: AllocationSet): ComparedSets {
    const of = wholeOf(mine);
    return { of, other_of: { ...of, value: this.otherValue } };
  }

  private setsOfAllocations(mine: AllocationSet, { device, axis }: OwnTimeline): Pending<FoundSets> {
    const { open, settings } = this;
    const none = wholeOf(mine);
    const of = settings.mine === 'end' ? { ...none, from_moment: device.events } : mine;
    if (!open) return ready({ of, other_of: none });
    const there = { ...none, device: open.device.device };
    const atEnd = { ...there, from_moment: open.device.events };
    if (settings.theirs === 'peak') return ready({ of, other_of: there });
    if (settings.theirs === 'end' || settings.mine === 'end') return ready({ of, other_of: atEnd });
    const { from_moment: from, to_moment: to } = of;
    if (from === null) return ready({ of, other_of: there });
    const pending = this.api.request('memlens/compareMoments', {
      device: device.device,
      other_device: open.device.device,
      alignment: this.alignment(axis),
      moments: to === null ? [from] : [from, to],
      filter: mine.filter,
    });
    return {
      answer: pending.answer.then(({ moments, inferred_steps: inferredSteps }) => ({
        sets: {
          of,
          other_of: {
            ...of,
            device: there.device,
            from_moment: moments[0] ?? 0,
            to_moment: moments[1] ?? null,
          },
        },
        inferredSteps,
      })),
      cancel: () => pending.cancel(),
    };
  }

  private begin(other: OtherSnapshot & { is: 'open' }): void {
    this.settingsOf = other.uri;
    if (this.restored?.uri === other.uri) {
      const { uri: _, ...settings } = this.restored;
      this.chosen.value = settings;
      this.restored = null;
      return;
    }
    this.restored = null;
    const { by, measure } = this.settings;
    this.chosen.value = { ...FIRST, by, measure, otherFirst: other.older };
    const { own } = this;
    const { info } = other;
    // two of other models have no devices, or can't be compared at all
    if (own.model === 'timeline' && info.model === 'timeline')
      this.chosen.value = { ...this.settings, ...firstDevices(other, info, own.device.device) };
  }
}

/** The device of the other that is compared first, and what of it. */
function firstDevices(
  other: OtherSnapshot & { is: 'open' },
  { devices, default_device: first }: TimelineInfo,
  ownDevice: number,
): Pick<CompareSettings, 'device' | 'theirs'> {
  const sameNumber = devices.some(({ device }) => device === ownDevice);
  // A snapshot with itself: another device if there is one, else the peak with the end.
  const otherDevice = other.itself && devices.length > 1 ? nextDevice(devices, ownDevice) : null;
  return {
    device: otherDevice ?? (sameNumber ? ownDevice : first),
    theirs: other.itself && otherDevice === null ? 'end' : 'same',
  };
}

/** The same device and filter, live at the peak. */
function wholeOf(set: AllocationSet): AllocationSet {
  return { ...set, kind: 'live', from_moment: null, to_moment: null };
}

function ready(sets: ComparedSets): Pending<FoundSets> {
  return { answer: Promise.resolve({ sets, inferredSteps: false }), cancel: () => undefined };
}

function nextDevice(devices: readonly DeviceInfo[], from: number): number {
  const at = devices.findIndex(({ device }) => device === from);
  return devices[(at + 1) % devices.length]?.device ?? from;
}

/** A value's number among another profile's: by its name, else by what it measures and in which unit. */
export function sameValue(value: ProfileValue, others: readonly ProfileValue[]): number | null {
  const alike = others.filter(({ unit }) => unit === value.unit);
  const found =
    alike.find(({ name }) => name === value.name) ??
    alike.find(({ meaning }) => meaning === value.meaning && meaning !== 'other');
  return found ? others.indexOf(found) : null;
}

/** "▲ +1.2 GiB", "▼ −3 MiB", "= 0 B": shape, sign and words, so that colour is never alone. */
export function signed(difference: number): string {
  return `${arrow(difference)} ${withSign(difference)}`;
}

export function arrow(difference: number): string {
  return difference > 0 ? '▲' : difference < 0 ? '▼' : '=';
}

export function withSign(difference: number): string {
  return difference > 0 ? `+${figure(difference)}` : difference < 0 ? `−${figure(-difference)}` : figure(0);
}

/** Which kind of difference it is, as a class. */
export function direction(difference: number): 'more' | 'less' | 'even' {
  return difference > 0 ? 'more' : difference < 0 ? 'less' : 'even';
}

/** A saved comparison, if it is whole; nothing from a file is believed. */
export function restoreCompare(saved: CompareState | null | undefined): CompareState | null {
  if (!saved || typeof saved.uri !== 'string' || !Number.isInteger(saved.device)) return null;
  return {
    uri: saved.uri,
    otherFirst: saved.otherFirst,
    device: saved.device,
    mine: oneOf(saved.mine, ['set', 'end'], FIRST.mine),
    theirs: oneOf(saved.theirs, ['same', 'peak', 'end'], FIRST.theirs),
    by: oneOf(saved.by, BYS, FIRST.by),
    measure: oneOf(saved.measure, ['own', 'inclusive'], FIRST.measure),
    byStep: saved.byStep,
    offset: Number.isFinite(saved.offset) ? saved.offset : 0,
    value: typeof saved.value === 'string' ? saved.value : null,
  };
}
