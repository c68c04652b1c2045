// The moment that a legend gives figures of.

import type { Geometry } from '../../../extension/shared/geometry';
import type { DeviceInfo, MomentAnswer } from '../../../extension/shared/protocol.gen';
import { count, time } from '../base/format';
import { t } from '../base/l10n';
import type { Axis } from '../base/devices';
import { momentName, momentX } from './cursors';
import type { Plot } from './plot';
import { columnAt, highestColumn } from './scene/columns';

export interface LegendMoment {
  /** Of the picture. */
  readonly column: number;
  /** "At the peak", "At 1.2 s". */
  readonly words: string;
}

/** What the pointer is over: a column of the picture, and the place of the axis. */
export interface PointedAt {
  readonly column: number;
  readonly x: number;
}

/** The moment under the pointer, else of the cursor, else of the highest in view; null where no column is in view. */
export function legendMoment(
  plot: Pick<Plot, 'camera' | 'bounds'>,
  g: Geometry,
  device: DeviceInfo,
  axis: Axis,
  { hovered, picked }: { readonly hovered: PointedAt | null; readonly picked: MomentAnswer | null },
): LegendMoment | null {
  const column =
    hovered?.column ??
    (picked && pickedColumn(g, picked, momentX(picked, axis, plot.bounds.x0))) ??
    highestColumn(g, plot.camera);
  if (column === null) return null;
  const moment = g.moment[column] ?? 0;
  // without events there is one moment
  if (device.events === 0) return { column, words: t('In the snapshot') };
  if (moment === device.peak_moment) return { column, words: t('At the peak') };
  // the cursor's own time, or the pointer's, as the table, the axis and the tooltip say it
  if (!hovered && picked?.moment === moment) return { column, words: t('At {0}', momentName(picked, axis)) };
  const x = hovered?.x ?? g.x0 + ((column + 0.5) / g.columns) * (g.x1 - g.x0);
  return { column, words: axis === 'time' ? t('At {0}', time(x)) : t('At event {0}', count(moment)) };
}

/** The column that shows a picked moment: beside the one that it is in, if that shows another. */
function pickedColumn(g: Geometry, { moment }: MomentAnswer, x: number): number | null {
  const column = columnAt(g, x);
  if (column === null) return null;
  return [column, column - 1, column + 1].find((near) => g.moment[near] === moment) ?? column;
}
