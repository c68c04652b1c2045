// The difference flame graph: both sides of a comparison as one tree of calls, and in which measure.

import { signal, type Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { follow } from '../base/follow';
import { t } from '../base/l10n';
import { oneOf } from '../base/one-of';
import type { CompareContext } from './comparison';
import type { Scale, Width } from '../flame/difference';
import { KeptFlame } from '../flame/settings';
import { ComparedSource, type ComparedSets } from '../flame/source';
import type { SavedDifference } from '../base/saved';
import { Choices, Dropdown } from '../widgets/choice';
import { FlamePane } from '../flame/pane';

/** The size of no file: names of a comparison's frames are numbers of both files together, and are not kept. */
const NO_FILE = -1;
/** In which measure both are shown. */
interface Measure {
  readonly scale: Scale;
  readonly width: Width;
}

export class CompareGraph {
  private readonly flame: FlamePane;
  private readonly kept: KeptFlame;
  private readonly source: ComparedSource;
  private readonly settings: Signal<Measure>;
  private sets: ComparedSets | null = null;
  private otherFirst = false;
  private readonly unfollow: () => void;
  /** Which two snapshots it is of, and which of them is before: numbers of names are the same as long as these are. */
  private of = '';

  constructor(context: CompareContext) {
    const saved = restoreDifference(context.api.saved()?.kept?.difference);
    this.settings = signal({ scale: saved.scale, width: saved.width });
    const file = { ...context.info, file_bytes: NO_FILE };
    this.kept = new KeptFlame(saved.flame, file, { value: 'bytes', order: 'value' });
    if (this.kept.settings.form === 'functions') this.kept.set({ form: 'icicle' });
    this.unfollow = follow({ settings: () => this.settings.value, flame: () => this.kept.state }, () =>
      context.api.keep({ difference: { ...this.settings.value, flame: this.kept.state } }),
    );
    this.source = new ComparedSource(
      context.api,
      () => {
        const { sets, otherFirst } = this;
        if (!sets) throw new Error('There is nothing to compare yet.');
        return { sets, otherFirst, ...this.settings.value, attribution: context.attribution.value };
      },
      () => this.flame.restyle(),
    );
    const of = {
      info: context.info,
      get set() {
        return context.set;
      },
      setName: t('before and after'),
    };
    this.flame = new FlamePane(context, of, this.kept, this.source, this.Measures);
  }

  readonly View = ({ hidden }: { readonly hidden: boolean }): VNode => (
    <div class="compare-graph" hidden={hidden}>
      <this.flame.Bar hidden={false} />
      <this.flame.View />
    </div>
  );

  private readonly Measures = (): VNode => (
    <>
      <Choices<Scale>
        label={t('Scale')}
        value={this.settings.value.scale}
        options={[
          { value: 'absolute', text: t('Absolute'), title: t('What grew and what shrank') },
          {
            value: 'normalised',
            text: t('Normalised'),
            title: t('Each as a share of its own total: where the balance moved'),
          },
        ]}
        change={(scale) => this.set({ scale })}
      />
      <Dropdown<Width>
        label={t('Width of boxes')}
        value={this.settings.value.width}
        options={[
          { value: 'both', text: t('Width: both together') },
          { value: 'after', text: t('Width: after') },
          { value: 'before', text: t('Width: before') },
        ]}
        change={(width) => this.set({ width })}
      />
    </>
  );

  /** Shows two sets; `of` names the two snapshots in their order. */
  show(sets: ComparedSets, otherFirst: boolean, of: string): void {
    const sameNames = of === this.of;
    this.of = of;
    this.sets = sets;
    this.otherFirst = otherFirst;
    this.flame.renewed(sameNames);
  }

  /** By another rule boxes have something of their own. */
  reattribute(): void {
    if (this.sets) this.flame.update(new Set(['attribution']));
  }

  key(event: KeyboardEvent): boolean {
    return this.flame.key(event);
  }

  dispose(): void {
    this.unfollow();
    this.flame.dispose();
  }

  private set(part: Partial<Measure>): void {
    this.settings.value = { ...this.settings.value, ...part };
    if (this.sets) this.flame.renewed(true);
  }
}

/** What was kept, as far as it is whole. */
export function restoreDifference(saved: SavedDifference | undefined): SavedDifference {
  return {
    scale: oneOf(saved?.scale, ['absolute', 'normalised'], 'absolute'),
    width: oneOf(saved?.width, ['both', 'after', 'before'], 'both'),
    flame: saved?.flame ?? null,
  };
}
