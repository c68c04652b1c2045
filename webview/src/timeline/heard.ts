// What keys and commands do to the picture, in words for screen readers: everybody else sees it.

import type { Action } from '../../../extension/shared/commands';
import { follow } from '../base/follow';
import { bytes, count, time } from '../base/format';
import { t } from '../base/l10n';
import { movesCamera } from '../shell/moves';
import { momentName } from './cursors';
import { groupTitle } from './pickers';
import { highestColumn } from './scene/columns';
import type { TimelineSession } from './session';

/** How long no key moves the picture, in milliseconds, before its range is read out: once for a key that is held down. */
const STILL = 400;

const ZOOMS: readonly Action[] = ['peak', 'zoomToSelection'];
const GROUPS: readonly Action[] = ['toggleColour', 'toggleOrder'];

export class Heard {
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly session: TimelineSession) {
    const { cursors } = session;
    session.whileShown(() => clearTimeout(this.timer));
    session.whileShown(follow({ cursors: () => cursors.now }, () => this.hearCursor()));
  }

  /** After an action; `boxTool` is whether a drag draws a box now. */
  of(action: Action, boxTool: boolean): void {
    const { session } = this;
    if (action === 'boxTool') session.hear(boxTool ? t('A drag zooms a box') : t('A drag moves the picture'));
    else if (movesCamera(action) || ZOOMS.includes(action)) this.hearRange();
    else if (GROUPS.includes(action) || action.startsWith('group.')) session.hear(groupInWords(session));
    else if (action === 'toggleAxis')
      session.hear(session.axis === 'time' ? t('Axis: time') : t('Axis: event number'));
  }

  /** The range that is shown, once it stands still, and the most that is live in it. */
  private hearRange(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.session.plot.busy.value) this.hearRange();
      else this.session.hear(rangeInWords(this.session));
    }, STILL);
  }

  private hearCursor(): void {
    const { cursors, axis } = this.session;
    const { first, second } = cursors;
    const moment = second ?? first;
    if (!moment) return;
    const live = bytes(moment.live_bytes);
    const at = momentName(moment, axis);
    this.session.hear(
      second ? t('Second cursor at {0}: {1} live', at, live) : t('Cursor at {0}: {1} live', at, live),
    );
  }
}

function rangeInWords({ plot, axis, device }: TimelineSession): string {
  const { target, geometry: g } = plot;
  // the picture begins a little before the run, and ends a little after it
  const run = axis === 'time' && device.time_axis ? device.time_axis : { x0: 0, x1: device.events };
  const x0 = Math.max(target.x0, run.x0);
  const x1 = Math.min(target.x1, run.x1);
  const range =
    axis === 'time'
      ? t('From {0} to {1}', time(x0), time(x1))
      : t('Events {0} to {1}', count(Math.round(x0)), count(Math.round(x1)));
  const highest = g && highestColumn(g, target);
  if (!g || highest === null) return range;
  const most = bytes(g.total[highest] ?? 0);
  const moment = g.moment[highest] ?? 0;
  return moment === device.peak_moment
    ? t('{0}, with the peak of {1}', range, most)
    : t('{0}, at most {1}, at event {2}', range, most, count(moment));
}

/** What the picture is grouped by, or what its colours are. */
function groupInWords({ areas: { kind, isByCategory } }: TimelineSession): string {
  if (kind !== null) return groupTitle(kind);
  return isByCategory ? t('PyTorch order, coloured by category') : t('PyTorch order, coloured by stack');
}
