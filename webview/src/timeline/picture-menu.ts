// The menu of the picture: what can be done to the allocation under the pointer, and to the view.

import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { copyItems } from '../widgets/copy';
import { addTerm, allBut } from '../shell/filter-terms';
import { exactly } from '../base/text';
import type { BookmarkTour } from './bookmark-tour';
import type { TimelineSession } from './session';
import { openMenu, type MenuEntry, type MenuItem } from '../widgets/menu';
import { hasSource, nameOf } from '../base/format';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';

type Hit = Pending<{ readonly allocation: AllocationSummary | null }>;

type Run = (action: 'fit' | 'peak') => void;

/** `ask` says what lies at a moment and a height. */
export function listenForMenu(
  session: TimelineSession,
  tour: BookmarkTour,
  ask: (moment: number, yBytes: number) => Hit,
  run: Run,
): void {
  const { plot } = session;
  const latest = new Latest();
  plot.surface.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    latest.cancel();
    const box = plot.surface.getBoundingClientRect();
    const hit = plot.hit(event.clientX - box.left, event.clientY - box.top);
    const moment = hit ? plot.geometry?.moment[hit.column] : undefined;
    const show = (allocation: AllocationSummary | null): void => {
      const items = [
        ...(allocation ? itemsOf(allocation, moment ?? 0, session) : []),
        ...viewItems(moment ?? null, session, tour, run),
      ];
      openMenu(items, event.clientX, event.clientY, t('Picture'));
    };
    if (!hit || moment === undefined) {
      show(null);
      return;
    }
    latest.ask(
      ask(moment, hit.yBytes),
      ({ allocation }) => show(allocation),
      (error) => session.failed(error),
    );
  });
}

function item(text: string, key: string, run: () => void): MenuItem {
  return { text, key, run };
}

function itemsOf(
  allocation: AllocationSummary,
  moment: number,
  session: TimelineSession,
): readonly MenuEntry[] {
  const { label, allocation: number } = allocation;
  const { selection, cursors } = session;
  const { title } = nameOf(allocation);
  const made: MenuEntry[] = [];
  if (hasSource(label)) made.push(item(t('Open Line'), '', () => session.openLabel(allocation)));
  made.push(
    item(t('Select'), '', () => {
      cursors.place(moment);
      selection.select(number, moment, false);
    }),
    item(t('Zoom to It'), '', () => {
      selection.select(number, null, false);
      selection.zoomTo();
    }),
  );
  const term = hasSource(label) ? `by:${exactly(`${label.file}:${label.line}`)}` : null;
  if (term !== null) {
    const narrow = (more: string) => (): void => addTerm(session, more);
    made.push(item(t('Filter to This Line'), '', narrow(term)));
    const others = allBut(term);
    if (others !== null) made.push(item(t('Hide This Line'), '', narrow(others)));
    const { leaveOut } = session;
    if (leaveOut) made.push(item(t('What If Without This Line'), '', () => leaveOut(term, title)));
  }
  return [...made, ...copyItems(session.api, { name: title, place: label }, null), null];
}

function viewItems(
  moment: number | null,
  session: TimelineSession,
  tour: BookmarkTour,
  run: Run,
): readonly MenuEntry[] {
  return [
    ...(moment === null
      ? []
      : [
          item(t('Set Cursor Here'), '', () => session.cursors.place(moment)),
          item(t('Add Bookmark Here…'), '', () => tour.add(moment)),
        ]),
    item(t('Go to the Peak'), 'P', () => run('peak')),
    item(t('Reset Zoom'), '0', () => run('fit')),
  ];
}
