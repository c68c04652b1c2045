// Which tree of calls a flame graph is of, and in which measure.

import type { FlameName, AllocationSet, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import type { FlameContext, FlameSubject } from './context';
import { never } from '../shell/model';
import { SIGNED, type Sided } from './difference';
import { isDrawn, treeParams, type FlameSettings, type KeptFlame, type TreeParams } from './settings';
import type { FlameSource } from './source';

export type Half = TreeParams['options']['direction'];

/** What a half's requests are about: stacks through the function, up from it or down. */
export function halfParams(params: TreeParams, direction: Half, name: FlameName): TreeParams {
  return { ...params, options: { ...params.options, direction, focus: name.name } };
}

export class FlameQuestion {
  constructor(
    private readonly context: Pick<FlameContext, 'filter' | 'timeline'>,
    private readonly of: FlameSubject,
    private readonly kept: KeptFlame,
    private readonly source: FlameSource,
  ) {}

  get settings(): FlameSettings {
    return this.kept.settings;
  }

  get params(): TreeParams {
    return treeParams(this.settings, this.of.set, this.context.timeline?.device.events ?? 0);
  }

  /** What decides which boxes are drawn. */
  get key(): string {
    return JSON.stringify([this.params, this.settings.search]);
  }

  /** The tree up from the function between the trees, or down. */
  halfOf(direction: Half): TreeParams {
    const { sandwich } = this.settings;
    return sandwich ? halfParams(this.params, direction, sandwich) : this.params;
  }

  /** What boxes have two sides of: both of a comparison, or what of a profile's values is negative and what isn't. */
  readonly sided = (): Sided | null => {
    const { info, set } = this.of;
    return this.source.compared ?? (isSigned(info, set) ? SIGNED : null);
  };

  get isDrawn(): boolean {
    return isDrawn(this.settings);
  }

  get isCount(): boolean {
    return this.settings.value === 'count';
  }

  /** What it is of, in words. */
  get name(): string {
    return this.settings.value === 'total' ? t('of the whole run') : this.of.setName;
  }

  get title(): string {
    return this.isCount
      ? t('Flame graph: {0}, allocations', this.of.setName)
      : t('Flame graph: {0}', this.of.setName);
  }

  /** What is said where it has no boxes. */
  get empty(): string {
    if (this.source.compared) return t('Neither side has anything here.');
    if (this.context.filter !== '') return t('Nothing matches the filter.');
    switch (this.of.info.model) {
      case 'timeline':
        return t('Nothing was allocated {0}.', this.name);
      case 'profile':
      case 'graph':
        // a profile's value says itself what was done
        return t('Nothing {0}.', this.name);
      default:
        return never(this.of.info);
    }
  }
}

/** Whether some of a set's values are negative: its boxes then have two sides. */
function isSigned(info: SnapshotInfo, { from_moment: from, value }: AllocationSet): boolean {
  switch (info.model) {
    case 'timeline':
    case 'graph':
      return false;
    case 'profile':
      return from === null && value !== null && info.values[value]?.negative === true;
    default:
      return never(info);
  }
}
