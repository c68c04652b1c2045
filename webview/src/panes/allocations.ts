// The allocations of the set, one a row.

import type { LiveAnswer } from '../../../extension/shared/protocol.gen';
import { RequestError, type Pending } from '../api';
import { LiveTable, TABLE_PAGE } from '../ui/table';
import type { MakePane } from './pane';

export const allocationsPane: MakePane = (context) => {
  let pending: Pending<LiveAnswer> | null = null;
  const table = new LiveTable(context.info.categories.length > 0, {
    select: (allocation, moment) => {
      context.select(allocation, moment);
    },
    fetch: (moment, offset) => {
      pending?.cancel();
      pending = context.api.request('memlens/live', {
        device: context.device.device,
        moment,
        offset,
        limit: TABLE_PAGE,
      });
      pending.answer.then(
        (answer) => {
          context.names.learn(answer.rows);
          table.add(answer, moment);
        },
        (error: unknown) => {
          if (error instanceof RequestError && error.problem.code === 'cancelled') return;
          table.failed(error instanceof Error ? error.message : String(error));
        },
      );
    },
    colourOf: (allocation) => context.colourOf(allocation),
  });
  return {
    id: 'allocations',
    title: 'Allocations',
    usesSet: true,
    root: table.root,
    update: (changes) => {
      if (changes.has('device') || changes.has('filter') || changes.has('cursors'))
        table.show(context.set.from_moment);
      else if (changes.has('theme')) table.recolour((allocation) => context.names.allocation(allocation));
      table.setSelected(context.selected);
    },
    dispose: () => {
      pending?.cancel();
    },
  };
};
