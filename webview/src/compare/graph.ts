// The difference flame graph: both sides of a comparison as one tree of calls, and in which measure.

import { t } from '../base/l10n';
import type { ComparedSets } from './comparison';
import type { ViewContext } from '../shell/context';
import type { Scale, Width } from '../flame/difference';
import { KeptFlame } from '../flame/settings';
import { ComparedSource } from '../flame/source';
import type { SavedDifference } from '../shell/state';
import { oneStop } from '../shell/bar';
import { Choice } from '../widgets/choice';
import { add, element } from '../widgets/dom';
import { FlamePane } from '../flame/pane';

/** Names of a comparison's frames are numbers of both files together: they are not kept. */
const NO_FILE = { file_bytes: -1 };
const WIDTHS: readonly (readonly [Width, string])[] = [
  ['both', t('Width: both together')],
  ['after', t('Width: after')],
  ['before', t('Width: before')],
];

export class CompareGraph {
  readonly root: HTMLElement;
  private readonly flame: FlamePane;
  private readonly kept: KeptFlame;
  private readonly source: ComparedSource;
  private readonly scale: Choice<Scale>;
  private readonly width = element('select', {
    class: 'dropdown',
    title: t('Width'),
    attributes: { 'aria-label': t('Width of boxes') },
    on: {
      change: () => {
        const found = WIDTHS.find(([value]) => value === this.width.value);
        if (found) this.set({ width: found[0] });
      },
    },
  });
  private settings: { scale: Scale; width: Width };
  private sets: ComparedSets | null = null;
  private otherFirst = false;
  /** Which two snapshots it is of, and which of them is before: numbers of names are the same as long as these are. */
  private of = '';

  constructor(private readonly context: ViewContext) {
    const saved = restoreDifference(context.api.saved()?.kept?.difference);
    this.settings = { scale: saved.scale, width: saved.width };
    this.kept = new KeptFlame(saved.flame, NO_FILE, () => {
      this.keep();
    });
    Object.assign(this.kept.settings, { value: 'bytes', order: 'value' });
    if (this.kept.settings.form === 'functions') this.kept.settings.form = 'icicle';
    this.source = new ComparedSource(
      context.api,
      () => {
        const { sets, otherFirst } = this;
        if (!sets) throw new Error('There is nothing to compare yet.');
        return { sets, otherFirst, ...this.settings, attribution: context.attribution.value };
      },
      () => {
        this.flame.restyle();
      },
    );
    this.flame = new FlamePane(context, this.kept, this.source, () => t('before and after'));
    this.scale = new Choice<Scale>(
      t('Scale'),
      [
        { value: 'absolute', text: t('Absolute'), title: t('What grew and what shrank') },
        {
          value: 'normalised',
          text: t('Normalised'),
          title: t('Both as shares of their own whole: where the balance moved'),
        },
      ],
      (scale) => {
        this.set({ scale });
      },
    );
    for (const [value, text] of WIDTHS) add(this.width, element('option', { attributes: { value } }, text));
    this.flame.bar.prepend(this.scale.root, this.width);
    oneStop(this.flame.bar);
    this.root = element('div', { class: 'compare-graph' }, this.flame.bar, this.flame.root);
    this.arrange();
  }

  /** Shows two sets; `of` names the two snapshots in their order. */
  show(sets: ComparedSets, otherFirst: boolean, of: string): void {
    const sameNames = of === this.of;
    this.of = of;
    this.sets = sets;
    this.otherFirst = otherFirst;
    this.retheme();
    this.flame.renewed(sameNames);
  }

  retheme(): void {
    this.flame.update(new Set(['theme']));
    this.arrange();
  }

  /** By another rule boxes have something of their own. */
  reattribute(): void {
    if (this.sets) this.flame.update(new Set(['attribution']));
  }

  key(event: KeyboardEvent): boolean {
    return this.flame.key(event);
  }

  dispose(): void {
    this.flame.dispose();
  }

  private set(part: Partial<{ scale: Scale; width: Width }>): void {
    this.settings = { ...this.settings, ...part };
    this.arrange();
    this.keep();
    if (this.sets) this.flame.renewed(true);
  }

  private arrange(): void {
    const { scale, width } = this.settings;
    this.scale.set(scale);
    this.width.value = width;
  }

  private keep(): void {
    this.context.api.keep({ difference: { ...this.settings, flame: this.kept.state } });
  }
}

/** What was kept, as far as it is whole. */
export function restoreDifference(saved: SavedDifference | undefined): SavedDifference {
  const one = <T extends string>(value: unknown, all: readonly T[], otherwise: T): T =>
    all.find((each) => each === value) ?? otherwise;
  return {
    scale: one(saved?.scale, ['absolute', 'normalised'], 'absolute'),
    width: one(saved?.width, ['both', 'after', 'before'], 'both'),
    flame: saved?.flame ?? null,
  };
}
