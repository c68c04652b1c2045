// Out of memory, explained: which event, what stood in the way, and the lines and blocks to look at.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Mark, OomAnswer } from '../../../../extension/shared/protocol.gen';
import { deviceName } from '../../base/format';
import { count, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf, visible } from '../../base/text';
import type { TimelineSession } from '../session';
import { devicesOf } from '../../shell/model';
import type { Pane, PaneRoom } from '../../shell/pane';
import { markName, markX } from '../flags';
import { OomArticle } from './oom-article';

/** Going to the event from afar shows this share of the run around it. */
const VIEW = 0.1;

class Oom {
  readonly listed = signal<readonly Mark[]>([]);
  readonly chosen = signal<Mark | null>(null);
  /** What is shown, which stays until there is another. */
  readonly shown = signal<{ readonly mark: Mark; readonly answer: OomAnswer } | null>(null);
  /** What there is to say while, or because, nothing is shown of the chosen one. */
  readonly note = signal('');
  readonly latest = new Latest();

  constructor(readonly context: TimelineSession) {}

  list(): void {
    const { ooms } = this.context.flags;
    if (this.listed.value.length > 0 || ooms.length === 0) return;
    this.listed.value = ooms;
    const first = ooms.find(({ device }) => device === this.context.device.device) ?? ooms[0];
    if (first) this.show(first);
  }

  show(mark: Mark): void {
    this.chosen.value = mark;
    this.note.value = t('Looking at what the allocator held…');
    this.latest.ask(
      this.context.api.request('memlens/oom', { device: mark.device, event: mark.event }),
      (answer) => {
        this.note.value = '';
        this.shown.value = { mark, answer };
      },
      (error) => {
        this.note.value = messageOf(error);
      },
    );
  }

  goTo(mark: Mark): void {
    const { context } = this;
    if (mark.device !== context.device.device) context.switchDevice(mark.device);
    const { bounds, camera, axis } = context;
    const x = markX(mark, axis);
    const span = Math.min(camera.x1 - camera.x0, (bounds.x1 - bounds.x0) * VIEW);
    context.moveTo(x - span / 2, x + span / 2, true);
    context.cursors.place(mark.moment);
    context.say(t('At {0}', markName(mark, devicesOf(context.info))));
  }
}

function OomView({ oom, room }: { readonly oom: Oom; readonly room: PaneRoom }): VNode {
  const article = useRef<HTMLDivElement>(null);
  const { context } = oom;
  const devices = devicesOf(context.info);
  const shown = oom.shown.value;
  useLayoutEffect(() => {
    if (article.current) article.current.scrollTop = 0;
  }, [shown]);
  const listed = oom.listed.value;
  const more = context.flags.untold;
  return (
    <section {...room} class="oom pane">
      <div class="oom-events" role="group" aria-label={t('Out-of-memory events')} hidden={listed.length < 2}>
        {listed.map((mark, index) => (
          <button
            key={mark.event}
            type="button"
            class="oom-event"
            aria-pressed={mark === oom.chosen.value}
            data-index={index}
            onClick={() => oom.show(mark)}
          >
            {visible(markName(mark, devices))}
          </button>
        ))}
        {more > 0 && <span class="muted">{t('and {0} more', count(more))}</span>}
      </div>
      <p class="oom-note muted" role="status">
        {oom.note.value}
      </p>
      <div class="oom-article" ref={article}>
        {shown && (
          <OomArticle
            key={`${shown.mark.device} ${shown.mark.event}`}
            answer={shown.answer}
            device={deviceName(devices, shown.answer.device)}
            linked={{ context, mark: shown.mark }}
            goTo={() => oom.goTo(shown.mark)}
          />
        )}
      </div>
    </section>
  );
}

export const oomPane = (context: TimelineSession): Pane => {
  const oom = new Oom(context);
  return {
    View: (room) => <OomView oom={oom} room={room} />,
    update: () => oom.list(),
    dispose: () => oom.latest.cancel(),
  };
};
