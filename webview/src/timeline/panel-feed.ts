// What follows a selection: the details at the side are open while there is one, and it is said what it is.

import { follow } from '../base/follow';
import { bytes, nameOf } from '../base/format';
import { t } from '../base/l10n';
import { partsOf } from './frames-list';
import { sameStackSentence } from './panel-facts';
import type { Selected } from './selection';
import type { TimelineSession } from './session';

export function followSelection(session: TimelineSession): void {
  session.whileShown(
    follow({ shown: () => session.selection.shown.value }, () => {
      session.missing.value = [];
      react(session.selection.shown.value, session);
    }),
  );
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
