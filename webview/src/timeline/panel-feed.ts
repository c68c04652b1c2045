// The details at the side: open while something is selected, and what is said of it.

import { effect } from '@preact/signals';
import { follow } from '../base/follow';
import { bytes, nameOf } from '../base/format';
import { t } from '../base/l10n';
import { partsOf } from './frames-list';
import type { Panel } from './panel';
import { sameStackSentence } from './panel-facts';
import type { Selected } from './selection';
import type { TimelineSession } from './session';

export function feedPanel(panel: Panel, session: TimelineSession): void {
  session.whileShown(effect(() => show(panel, session)));
  session.whileShown(
    follow({ shown: () => session.selection.shown.value }, () =>
      react(session.selection.shown.value, session),
    ),
  );
}

/** What is selected, in the colours of the picture. */
function show(panel: Panel, { selection, colours, device, filter, picture }: TimelineSession): void {
  const shown = selection.shown.value;
  switch (shown.is) {
    case 'nothing':
      panel.showDevice(device);
      return;
    case 'waiting':
      panel.showWaiting(shown.sizeBytes);
      return;
    case 'problem':
      panel.showProblem(shown.message, shown.advice);
      return;
    case 'line':
      panel.showLine(shown.answer, filter !== '');
      return;
    case 'stack': {
      // neighbours are others in the memory map
      const how = { filtered: filter !== '', byAddress: picture.value === 'map' };
      panel.showStack(shown.answer, colours.of(shown.answer.allocation), how);
    }
  }
}

/** Opens or closes the details, and says what is in them. */
function react(shown: Selected, session: TimelineSession): void {
  const filtered = session.filter !== '';
  switch (shown.is) {
    case 'nothing':
      session.arrange({ panelOpen: false });
      session.say('');
      return;
    case 'waiting':
      session.arrange({ panelOpen: true });
      return;
    case 'problem':
      return;
    case 'line': {
      if (shown.isAgain) return;
      const { line, totals } = shown.answer;
      const sums = sameStackSentence(totals);
      session.arrange({ panelOpen: true });
      session.say(filtered ? t('Line {0} (filtered): {1}.', line, sums) : t('Line {0}: {1}.', line, sums));
      return;
    }
    case 'stack': {
      if (shown.isAgain) return;
      const { answer } = shown;
      const { title, place } = nameOf(answer.allocation);
      const where = place === null ? title : `${title}, ${place}`;
      const what = t('{0}, {1}.', bytes(answer.allocation.size_bytes), where);
      const same = sameStackSentence(answer.same_stack);
      if (partsOf(answer).length === 0) session.say(what);
      else
        session.say(
          filtered ? t('{0} Same stack (filtered): {1}.', what, same) : t('{0} Same stack: {1}.', what, same),
        );
    }
  }
}
