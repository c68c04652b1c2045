// Out of memory, explained: which event, what stood in the way, and the lines and blocks to look at.

import type { Mark, OomAnswer } from '../../../../extension/shared/protocol.gen';
import type { ViewContext } from '../../shell/context';
import { markName, markX } from '../flags';
import { Latest } from '../../base/latest';
import { devicesOf } from '../../shell/model';
import type { Pane } from '../../shell/pane';
import { oomArticle } from './oom-article';
import { element, replace, setText } from '../../widgets/dom';
import { counted, deviceName } from '../../base/format';

/** Going to the event from afar shows this share of the run around it. */
const VIEW = 0.1;

export const oomPane = (context: ViewContext): Pane => {
  const events = element('div', {
    class: 'oom-events',
    role: 'group',
    attributes: { 'aria-label': 'Out-of-memory events' },
  });
  const article = element('div', { class: 'oom-article' });
  const note = element('p', { class: 'oom-note muted', role: 'status' });
  const root = element('section', { class: 'oom' }, events, note, article);
  let chosen: Mark | null = null;
  let listed: readonly Mark[] = [];
  const latest = new Latest();
  let shown: OomAnswer | null = null;

  const goTo = (mark: Mark): void => {
    if (mark.device !== context.device.device) context.switchDevice(mark.device);
    const { bounds, camera, axis } = context;
    const x = markX(mark, axis);
    const span = Math.min(camera.x1 - camera.x0, (bounds.x1 - bounds.x0) * VIEW);
    context.moveTo(x - span / 2, x + span / 2, true);
    context.cursors.place(mark.moment);
    context.say(`At ${markName(mark, devicesOf(context.info))}`);
  };

  const draw = (): void => {
    if (!shown || !chosen) return;
    const mark = chosen;
    replace(
      article,
      oomArticle(shown, deviceName(devicesOf(context.info), shown.device), {
        goTo: () => {
          goTo(mark);
        },
        open: (frame, beside) => {
          context.openFrame(frame, beside);
        },
        select: (allocation) => {
          context.select(allocation, mark.device === context.device.device ? mark.moment : null);
        },
        light: (stacks) => {
          context.lightStacks(new Set(stacks));
        },
      }),
    );
  };

  const show = (mark: Mark): void => {
    chosen = mark;
    for (const button of events.querySelectorAll('button'))
      button.setAttribute('aria-pressed', String(Number(button.dataset['index']) === listed.indexOf(mark)));
    setText(note, 'Looking at what the allocator held…');
    latest.ask(
      context.api.request('memlens/oom', { device: mark.device, event: mark.event }),
      (answer) => {
        setText(note, '');
        shown = answer;
        draw();
        article.scrollTop = 0;
      },
      (error) => {
        setText(note, error instanceof Error ? error.message : String(error));
      },
    );
  };

  const list = (): void => {
    listed = context.flags.ooms;
    const devices = devicesOf(context.info);
    replace(
      events,
      ...listed.map((mark, index) =>
        element(
          'button',
          {
            class: 'oom-event',
            type: 'button',
            attributes: { 'aria-pressed': false, 'data-index': index },
            on: {
              click: () => {
                show(mark);
              },
            },
          },
          markName(mark, devices),
        ),
      ),
      context.flags.untold > 0 &&
        element('span', { class: 'muted' }, `and ${counted(context.flags.untold, 'more mark')}`),
    );
    events.hidden = listed.length < 2;
    const first = listed.find(({ device }) => device === context.device.device) ?? listed[0];
    if (first) show(first);
  };

  return {
    id: 'oom',
    title: 'Out of memory',
    usesSet: false,
    root,
    update: () => {
      if (listed.length === 0 && context.flags.ooms.length > 0) list();
    },
    dispose: () => {
      latest.cancel();
    },
  };
};
