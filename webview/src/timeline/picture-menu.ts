// The menu of the picture: what can be done to the allocation under the pointer, and to the view.

import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { Pending } from '../base/request';
import { copyItems } from '../widgets/copy';
import { allBut, both } from '../shell/filter-terms';
import { exactly } from '../base/text';
import type { Plot } from './plot';
import { openMenu, type MenuEntry, type MenuItem } from '../widgets/menu';
import { hasSource, nameOf } from '../base/format';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';

export interface PictureMenuOwner {
  readonly filter: string;
  /** What lies at a moment and a height. */
  ask(moment: number, yBytes: number): Pending<{ readonly allocation: AllocationSummary | null }>;
  select(allocation: number, moment: number): void;
  zoomTo(allocation: number): void;
  open(allocation: AllocationSummary): void;
  setFilter(filter: string): void;
  /** Replays the trace without what a filter matches. */
  leaveOut(term: string, name: string): void;
  place(moment: number): void;
  /** Lets the user write a note for a moment. */
  bookmark(moment: number): void;
  run(action: 'fit' | 'peak'): void;
  failed(error: unknown): void;
}

export function listenForMenu(plot: Plot, api: Pick<Api, 'post'>, owner: PictureMenuOwner): void {
  const latest = new Latest();
  plot.surface.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    latest.cancel();
    const box = plot.surface.getBoundingClientRect();
    const hit = plot.hit(event.clientX - box.left, event.clientY - box.top);
    const moment = hit ? plot.geometry?.moment[hit.column] : undefined;
    const show = (allocation: AllocationSummary | null): void => {
      const items = [
        ...(allocation ? itemsOf(allocation, moment ?? 0, api, owner) : []),
        ...viewItems(moment ?? null, owner),
      ];
      openMenu(items, event.clientX, event.clientY, t('Picture'));
    };
    if (!hit || moment === undefined) {
      show(null);
      return;
    }
    latest.ask(
      owner.ask(moment, hit.yBytes),
      ({ allocation }) => show(allocation),
      (error) => owner.failed(error),
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
  if (hasSource(label)) made.push(item(t('Open Line'), '', () => owner.open(allocation)));
  made.push(
    item(t('Select'), '', () => owner.select(number, moment)),
    item(t('Zoom to It'), '', () => owner.zoomTo(number)),
  );
  const term = hasSource(label) ? `by:${exactly(`${label.file}:${label.line}`)}` : null;
  if (term !== null) {
    const narrow = (more: string) => (): void => owner.setFilter(both(owner.filter, more));
    made.push(item(t('Filter to This Line'), '', narrow(term)));
    const others = allBut(term);
    if (others !== null) made.push(item(t('Hide This Line'), '', narrow(others)));
    const { title } = nameOf(allocation);
    made.push(item(t('What If Without This Line'), '', () => owner.leaveOut(term, title)));
  }
  return [...made, ...copyItems(api, { name: nameOf(allocation).title, place: label }, null), null];
}

function viewItems(moment: number | null, owner: PictureMenuOwner): readonly MenuEntry[] {
  return [
    ...(moment === null
      ? []
      : [
          item(t('Set Cursor Here'), '', () => owner.place(moment)),
          item(t('Add Bookmark Here…'), '', () => owner.bookmark(moment)),
        ]),
    item(t('Go to the Peak'), 'P', () => owner.run('peak')),
    item(t('Reset Zoom'), '0', () => owner.run('fit')),
  ];
}
