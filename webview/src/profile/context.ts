// A profile's view as its panes know it: a value of the profile, or a range of its run, and no timeline.

import type { CompareState } from '../../../extension/shared/messages';
import type { AllocationSet, Frame, ProfileInfo, ProfileValue } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { said } from '../base/l10n';
import { baseName } from '../base/paths';
import { Compare, type CompareContext, type OwnProfile } from '../compare/comparison';
import type { SetFlameContext } from '../flame/context';
import type { KeptFlame } from '../flame/settings';
import type { KeptAttribution } from '../shell/attribution';
import type { TimeRange } from './range';

export interface ProfileOwner {
  readonly value: number;
  readonly filter: string;
  readonly range: TimeRange | null;
  /** The range in words; null for the whole of the profile. */
  readonly rangeName: string | null;
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

export class ProfileContext implements CompareContext, SetFlameContext {
  readonly compare: Compare;
  readonly timeline = null;

  constructor(
    readonly api: Api,
    readonly info: ProfileInfo,
    private readonly owner: ProfileOwner,
  ) {
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
}
