// The menu of the picture: what can be done to the allocation under the pointer, and to the view.

import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import type { Api, Pending } from '../api';
import { copyItems } from '../widgets/copy';
import { allBut, both, exactly } from '../shell/filter-terms';
import type { Plot } from './plot';
import { openMenu, type MenuEntry, type MenuItem } from '../widgets/menu';
import { hasSource, nameOf } from '../base/format';

export interface PictureMenuOwner {
  readonly filter: string;
  /** What lies at a moment and a height. */
  ask(moment: number, yBytes: number): Pending<{ readonly allocation: AllocationSummary | null }>;
  select(allocation: number, moment: number): void;
  zoomTo(allocation: number): void;
  open(allocation: AllocationSummary): void;
  setFilter(filter: string): void;
  place(moment: number): void;
  /** Lets the user write a note for a moment. */
  bookmark(moment: number): void;
  run(action: 'fit' | 'peak'): void;
  failed(error: unknown): void;
}

export function listenForMenu(plot: Plot, api: Pick<Api, 'post'>, owner: PictureMenuOwner): void {
  let asking: Pending<unknown> | null = null;
  plot.surface.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    asking?.cancel();
    const box = plot.surface.getBoundingClientRect();
    const hit = plot.hit(event.clientX - box.left, event.clientY - box.top);
    const moment = hit ? plot.geometry?.moment[hit.column] : undefined;
    const show = (allocation: AllocationSummary | null): void => {
      const items = [
        ...(allocation ? itemsOf(allocation, moment ?? 0, api, owner) : []),
        ...viewItems(moment ?? null, owner),
      ];
      openMenu(items, event.clientX, event.clientY, 'Picture');
    };
    if (!hit || moment === undefined) {
      show(null);
      return;
    }
    const pending = owner.ask(moment, hit.yBytes);
    asking = pending;
    pending.answer.then(
      ({ allocation }) => {
        if (asking === pending) show(allocation);
      },
      (error: unknown) => {
        owner.failed(error);
      },
    );
  });
}

function item(text: string, key: string, run: () => void): MenuItem {
  return { text, key, run };
}

function itemsOf(
  allocation: AllocationSummary,
  moment: number,
  api: Pick<Api, 'post'>,
  owner: PictureMenuOwner,
): readonly MenuEntry[] {
  const { label, allocation: number } = allocation;
  const made: MenuEntry[] = [];
  if (hasSource(label))
    made.push(
      item('Open Line', '', () => {
        owner.open(allocation);
      }),
    );
  made.push(
    item('Select', '', () => {
      owner.select(number, moment);
    }),
    item('Zoom to It', '', () => {
      owner.zoomTo(number);
    }),
  );
  const term = hasSource(label) ? `by:${exactly(`${label.file}:${label.line}`)}` : null;
  if (term !== null) {
    const narrow = (more: string) => (): void => {
      owner.setFilter(both(owner.filter, more));
    };
    made.push(item('Filter to This Line', '', narrow(term)));
    const others = allBut(term);
    if (others !== null) made.push(item('Hide This Line', '', narrow(others)));
  }
  return [...made, ...copyItems(api, { name: nameOf(allocation).title, place: label }, null), null];
}

function viewItems(moment: number | null, owner: PictureMenuOwner): readonly MenuEntry[] {
  return [
    ...(moment === null
      ? []
      : [
          item('Cursor Here', '', () => {
            owner.place(moment);
          }),
          item('Add Bookmark Here…', '', () => {
            owner.bookmark(moment);
          }),
        ]),
    item('Go to the Peak', 'P', () => {
      owner.run('peak');
    }),
    item('Show Everything', '0', () => {
      owner.run('fit');
    }),
  ];
}
