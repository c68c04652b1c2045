// Annotations along the run, above every picture: what the run said of itself, and when.

import { count, plural, t } from '../base/l10n';
import { Latest } from '../base/latest';
import { signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type {
  AnnotationItem,
  AnnotationLane,
  AnnotationsAnswer,
} from '../../../extension/shared/protocol.gen';
import type { Change } from '../shell/context';
import type { TimelineSession } from './session';
import { debounce } from '../widgets/dom';
import { Icon } from '../widgets/icon';
import { useResized } from '../widgets/resized';
import { time } from '../base/format';
import { shorten } from '../base/text';

const ASK_AFTER_MS = 90;
/** Narrower than this an item says nothing, so neighbours are merged. */
const LEAST_PX = 4;
const TEXT_FROM_PX = 26;
const HUES = 6;
const KINDS: Record<AnnotationLane['kind'], string> = {
  annotations: t('Annotations'),
  annotate: t('Annotate'),
  user_metadata: t('Metadata'),
  compile_context: t('Compile'),
};

interface Shown {
  readonly item: AnnotationItem;
  readonly row: number;
  button: HTMLButtonElement | null;
}

interface Lane {
  readonly lane: AnnotationLane;
  /** It has the name of its kind: the first of that kind. */
  readonly first: boolean;
  readonly items: readonly Shown[];
}

interface Answered {
  readonly answer: AnnotationsAnswer;
  readonly lanes: readonly Lane[];
}

export class Lanes {
  /** Until the file is known to have some. */
  readonly hidden = signal(true);
  readonly body = createRef<HTMLDivElement>();
  readonly answered = signal<Answered | null>(null);
  readonly open = signal(true);
  /** Whether what is hidden otherwise is shown. */
  readonly noise = signal(false);
  private readonly latest = new Latest();
  /** The part of the run that was asked for, and how wide a pixel of it was. */
  private asked = { x0: 0, x1: 0, pixel: 0 };
  private readonly askSoon = debounce(ASK_AFTER_MS, () => this.ask());

  constructor(private readonly context: TimelineSession) {}

  readonly View = (): VNode => <LanesView lanes={this} />;

  /** It has another width. */
  resized(): void {
    this.place();
    this.askSoon();
  }

  update(changes: ReadonlySet<Change>): void {
    if (changes.has('device') || changes.has('axis')) {
      this.asked = { x0: 0, x1: 0, pixel: 0 };
      this.ask();
    } else if (changes.has('camera')) {
      this.place();
      if (this.outgrown()) this.askSoon();
    }
  }

  dispose(): void {
    this.askSoon.cancel();
    this.latest.cancel();
  }

  private get width(): number {
    return Math.max(
      (this.body.current?.clientWidth ?? 0) || this.context.bounds.x1 - this.context.bounds.x0,
      1,
    );
  }

  /** Whether the view left what was asked for, or looks closer or from farther away. */
  private outgrown(): boolean {
    const { x0, x1 } = this.context.camera;
    const { bounds } = this.context;
    const pixel = (x1 - x0) / this.width;
    const inside = this.asked.x0 <= Math.max(x0, bounds.x0) && this.asked.x1 >= Math.min(x1, bounds.x1);
    return !inside || pixel < this.asked.pixel / 1.5 || pixel > this.asked.pixel * 1.5;
  }

  private ask(): void {
    const { device, axis, camera, api } = this.context;
    const { x0, x1 } = camera;
    const span = x1 - x0;
    if (device.events === 0 || !(span > 0)) {
      this.hidden.value = true;
      return;
    }
    const width = (this.body.current?.clientWidth ?? 0) || 800;
    this.asked = { x0: x0 - span / 2, x1: x1 + span / 2, pixel: span / width };
    const pending = api.request('memlens/annotations', {
      device: device.device,
      axis,
      x0: this.asked.x0,
      x1: this.asked.x1,
      columns: Math.min(Math.max(Math.round((2 * width) / LEAST_PX), 1), 8192),
      noise: this.noise.value,
    });
    this.latest.ask(
      pending,
      (answer) => this.show(answer),
      (error) => this.context.failed(error),
    );
  }

  private get items(): readonly Shown[] {
    return this.answered.value?.lanes.flatMap(({ items }) => items) ?? [];
  }

  axis(): TimelineSession['axis'] {
    return this.context.axis;
  }

  private show(answer: AnnotationsAnswer): void {
    this.hidden.value = answer.lanes.length === 0 && answer.noise === 0;
    const lanes = answer.lanes.map((lane, row) => ({
      lane,
      first: answer.lanes[row - 1]?.kind !== lane.kind,
      items: lane.items.map((item): Shown => ({ item, row, button: null })),
    }));
    this.answered.value = { answer, lanes };
  }

  /** New items are there: where they lie, and which of them is the stop of Tab. */
  arrange(): void {
    const { items } = this;
    const focused = items.find(({ button }) => button === document.activeElement);
    for (const each of items) if (each.button) each.button.tabIndex = each === (focused ?? items[0]) ? 0 : -1;
    this.place();
  }

  /** Where each item lies now, in the pixels that all pictures share. */
  private place(): void {
    const { x0, x1 } = this.context.camera;
    const strip = this.body.current?.querySelector<HTMLElement>('.lane-strip');
    const width = strip?.clientWidth ?? 0;
    if (width === 0) return;
    const scale = width / (x1 - x0);
    for (const { item, button } of this.items) {
      if (!button) continue;
      const left = Math.min(Math.max((item.x0 - x0) * scale, -2), width);
      const right = Math.min(Math.max((item.x1 - x0) * scale, -2), width + 2);
      const outside = item.x1 < x0 || item.x0 > x1;
      button.hidden = outside;
      button.style.left = `${left.toFixed(1)}px`;
      button.style.width = `${Math.max(right - left, 3).toFixed(1)}px`;
      button.classList.toggle('bare', right - left < TEXT_FROM_PX);
    }
  }

  /** Sets both cursors to it, so that every pane is about it, and shows it. */
  pick(item: AnnotationItem, zoom: boolean): void {
    this.context.cursors.span(item.from_moment, item.to_moment);
    if (zoom) {
      const margin = Math.max((item.x1 - item.x0) * 0.05, this.context.bounds.minWidth / 2);
      this.context.moveTo(item.x0 - margin, item.x1 + margin, true);
    }
    this.context.say(t('{0}: between the cursors', describe(item, this.context.axis)));
  }

  toggle(): void {
    this.open.value = !this.open.value;
    if (this.open.value) this.ask();
  }

  toggleNoise(): void {
    this.noise.value = !this.noise.value;
    this.ask();
  }

  /** Left and right within a lane, up and down between lanes. */
  key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = this.items.findIndex(({ button }) => button === event.target);
    const here = this.items[at];
    if (!here) return;
    const seen = this.items.filter(({ button }) => button && !button.hidden);
    const mine = seen.filter(({ row }) => row === here.row);
    const place = mine.indexOf(here);
    let next: Shown | undefined;
    if (event.key === 'ArrowRight') next = mine[place + 1];
    else if (event.key === 'ArrowLeft') next = mine[place - 1];
    else if (event.key === 'Home') next = mine[0];
    else if (event.key === 'End') next = mine.at(-1);
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const rows = [...new Set(seen.map(({ row }) => row))];
      const row = rows[rows.indexOf(here.row) + (event.key === 'ArrowDown' ? 1 : -1)];
      const others = seen.filter((each) => each.row === row);
      next = others.find(({ item }) => item.x1 >= here.item.x0) ?? others.at(-1);
    } else return;
    event.preventDefault();
    if (!here.button || !next?.button) return;
    here.button.tabIndex = -1;
    next.button.tabIndex = 0;
    next.button.focus({ preventScroll: true });
  }
}

function LanesView({ lanes }: { readonly lanes: Lanes }): VNode {
  const answered = lanes.answered.value;
  const open = lanes.open.value;
  useLayoutEffect(() => lanes.arrange(), [answered, lanes]);
  useResized(lanes.body, () => lanes.resized());
  const noise = answered?.answer.noise ?? 0;
  return (
    <section class="lanes" aria-label={t('Annotations along the run')} hidden={lanes.hidden.value}>
      <header>
        <button
          type="button"
          class="lanes-fold"
          title={answered ? countsOf(answered.answer) : t('Annotations')}
          aria-expanded={open}
          onClick={() => lanes.toggle()}
        >
          <Icon name="chevron" />
          <span>{t('Annotations')}</span>
        </button>
        <button
          type="button"
          class="lanes-noise"
          hidden={noise === 0}
          title={answered ? noiseOf(answered.answer) : ''}
          aria-pressed={lanes.noise.value}
          onClick={() => lanes.toggleNoise()}
        >
          {lanes.noise.value ? t('Hide {0}', count(noise)) : t('{0} hidden', count(noise))}
        </button>
      </header>
      <div
        ref={lanes.body}
        class="lanes-body"
        role="group"
        hidden={!open}
        onKeyDown={(event) => lanes.key(event)}
      >
        {answered?.lanes.map(({ lane, first, items }, row) => (
          <div key={row} class={`lane lane-${lane.kind}`} role="group" aria-label={laneName(lane)}>
            <span class="lane-name" aria-hidden="true">
              {first && lane.kind !== 'annotations' && KINDS[lane.kind]}
            </span>
            <div class="lane-strip">
              {items.map((shown, i) => (
                <Item key={i} shown={shown} kind={lane.kind} lanes={lanes} />
              ))}
            </div>
          </div>
        ))}
      </div>
    </section>
  );
}

interface ItemProps {
  readonly shown: Shown;
  readonly kind: AnnotationLane['kind'];
  readonly lanes: Lanes;
}

function Item({ shown, kind, lanes }: ItemProps): VNode {
  const { item } = shown;
  const words = describe(item, lanes.axis());
  const hue = item.count > 1 ? 'many' : String(hueOf(item.name));
  return (
    <button
      ref={(button) => {
        shown.button = button;
      }}
      type="button"
      class={`lane-item hue-${hue}${item.unmatched ? ` open-${item.unmatched}` : ''}`}
      title={words}
      aria-label={`${KINDS[kind]}: ${words}`}
      onClick={(event) => lanes.pick(item, !event.shiftKey)}
    >
      <bdi>{shorten(item.name, 80)}</bdi>
    </button>
  );
}

function countsOf({ shown, unmatched }: AnnotationsAnswer): string {
  const annotations = plural(shown, '{0} annotation', '{0} annotations');
  return unmatched > 0
    ? t('{0}; of {1} the file has only one end', annotations, count(unmatched))
    : annotations;
}

function noiseOf({ noise, noise_names: names }: AnnotationsAnswer): string {
  return plural(
    noise,
    '{0} annotation of the compiler’s own timing, or frequent and very short: {1}',
    '{0} annotations of the compiler’s own timing, or frequent and very short: {1}',
    names.map((name) => shorten(name, 60)).join(', '),
  );
}

function laneName(lane: AnnotationLane): string {
  return lane.depth === 0 ? KINDS[lane.kind] : t('{0}, level {1}', KINDS[lane.kind], lane.depth + 1);
}

/** "Optimizer.step#AdamW.step, 12.1 ms, events 102 to 244". */
export function describe(item: AnnotationItem, axis: 'time' | 'event'): string {
  const parts = [shorten(item.name, 200)];
  if (axis === 'time' && item.x1 > item.x0) parts.push(time(item.x1 - item.x0));
  const events = item.to_moment - item.from_moment;
  parts.push(
    events > 0
      ? t('events {0} to {1}', count(item.from_moment + 1), count(item.to_moment))
      : t('no event of this device'),
  );
  if (item.unmatched === 'start') parts.push(t('its start is not in the file'));
  else if (item.unmatched) parts.push(t('its end is not in the file'));
  return parts.join(', ');
}

/** The same colour for the same name, numbers aside: each step looks like the others. */
export function hueOf(name: string): number {
  let hash = 7;
  for (const letter of name.replace(/\d+/g, '')) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return hash % HUES;
}
