// What a comparison comes to, in the place of the headline of one file.

import { effect, untracked } from '@preact/signals';
import type { HeadlineAnswer } from '../../../extension/shared/protocol.gen';
import { Latest } from '../base/latest';
import type { Pending } from '../base/request';
import type { Session } from '../shell/session';
import { bannerOf } from './bar';
import type { Compare, CompareContext } from './comparison';

type Compared = Pick<Session, 'api' | 'info' | 'failed' | 'whileShown'> & { readonly compare: Compare };

/** Shows the headline of two sets for as long as they are compared, and null while there is none. */
export function followHeadline(
  session: Compared & Pick<CompareContext, 'set'>,
  show: (headline: HeadlineAnswer | null) => void,
): void {
  const finding = new Latest();
  const asking = follow(session, show, () => {
    const { compare, set, api } = session;
    const { otherFirst } = compare.settings;
    if (compare.lacking) return null;
    const key = JSON.stringify([set, compare.settings]);
    return {
      key,
      ask: () => {
        finding.ask(
          compare.sets(set),
          ({ sets }) => asking(api.request('memlens/compareHeadline', { ...sets, other_first: otherFirst })),
          (error) => session.failed(error),
        );
      },
    };
  });
  session.whileShown(() => finding.cancel());
}

/** The same of two heap dumps. */
export function followHeapHeadline(
  session: Compared & { readonly filter: string },
  show: (headline: HeadlineAnswer | null) => void,
): void {
  const asking = follow(session, show, () => {
    const params = { other_first: session.compare.settings.otherFirst, filter: session.filter };
    return {
      key: JSON.stringify(params),
      ask: () => asking(session.api.request('memlens/compareHeapHeadline', params)),
    };
  });
}

interface Question {
  /** Another one for other questions. */
  readonly key: string;
  readonly ask: () => void;
}

/** Asks whenever the question is another; what is returned takes what is asked. */
function follow(
  session: Compared,
  show: (headline: HeadlineAnswer | null) => void,
  question: () => Question | null,
): (pending: Pending<HeadlineAnswer>) => void {
  const asking = new Latest();
  let last = '';
  session.whileShown(
    effect(() => {
      void session.compare.now.value;
      const isOpen = bannerOf(session) === null;
      const next = isOpen ? question() : null;
      const key = next === null ? '' : `${session.compare.other?.uri ?? ''} ${next.key}`;
      untracked(() => {
        if (key === last) return;
        last = key;
        asking.cancel();
        if (next === null) show(null);
        else next.ask();
      });
    }),
  );
  session.whileShown(() => asking.cancel());
  return (pending) => asking.ask(pending, show, (error) => session.failed(error));
}
