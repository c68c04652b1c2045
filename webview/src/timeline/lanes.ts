// Annotations along the run, above every picture: what the run said of itself, and when.

import { count, plural, t } from '../base/l10n';
import { Latest } from '../base/latest';
import type {
  AnnotationItem,
  AnnotationLane,
  AnnotationsAnswer,
} from '../../../extension/shared/protocol.gen';
import type { Change, ViewContext } from '../shell/context';
import { debounce, element, icon, replace, setText } from '../widgets/dom';
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
  readonly button: HTMLButtonElement;
  readonly row: number;
}

export class Lanes {
  readonly root = element('section', {
    class: 'lanes',
    hidden: true,
    attributes: { 'aria-label': t('Annotations along the run') },
  });
  private readonly fold: HTMLButtonElement;
  private readonly noiseButton: HTMLButtonElement;
  private readonly body = element('div', { class: 'lanes-body', role: 'group' });
  private open = true;
  private noise = false;
  private items: Shown[] = [];
  private readonly latest = new Latest();
  /** The part of the run that was asked for, and how wide a pixel of it was. */
  private asked = { x0: 0, x1: 0, pixel: 0 };
  private readonly askSoon = debounce(ASK_AFTER_MS, () => {
    this.ask();
  });

  constructor(private readonly context: ViewContext) {
    this.fold = element(
      'button',
      {
        class: 'lanes-fold',
        type: 'button',
        title: t('Annotations'),
        attributes: { 'aria-expanded': 'true' },
        on: {
          click: () => {
            this.setOpen(!this.open);
          },
        },
      },
      icon('chevron'),
      element('span', {}, t('Annotations')),
    );
    this.noiseButton = element('button', {
      class: 'lanes-noise',
      type: 'button',
      hidden: true,
      attributes: { 'aria-pressed': 'false' },
      on: {
        click: () => {
          this.noise = !this.noise;
          this.noiseButton.setAttribute('aria-pressed', String(this.noise));
          this.ask();
        },
      },
    });
    this.root.append(element('header', {}, this.fold, this.noiseButton), this.body);
    this.body.addEventListener('keydown', (event) => {
      this.key(event);
    });
    new ResizeObserver(() => {
      this.place();
      this.askSoon();
    }).observe(this.body);
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
    return Math.max(this.body.clientWidth || this.context.bounds.x1 - this.context.bounds.x0, 1);
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
      this.root.hidden = true;
      return;
    }
    const width = this.body.clientWidth || 800;
    this.asked = { x0: x0 - span / 2, x1: x1 + span / 2, pixel: span / width };
    const pending = api.request('memlens/annotations', {
      device: device.device,
      axis,
      x0: this.asked.x0,
      x1: this.asked.x1,
      columns: Math.min(Math.max(Math.round((2 * width) / LEAST_PX), 1), 8192),
      noise: this.noise,
    });
    this.latest.ask(
      pending,
      (answer) => {
        this.show(answer);
      },
      (error) => {
        this.context.failed(error);
      },
    );
  }

  private show(answer: AnnotationsAnswer): void {
    const { shown, noise, noise_names, unmatched } = answer;
    this.root.hidden = answer.lanes.length === 0 && noise === 0;
    this.noiseButton.hidden = noise === 0;
    setText(this.noiseButton, this.noise ? t('Hide {0}', count(noise)) : t('{0} hidden', count(noise)));
    this.noiseButton.title = plural(
      noise,
      '{0} annotation of the compiler’s own timing or often and very short: {1}',
      '{0} annotations of the compiler’s own timing or often and very short: {1}',
      noise_names.map((name) => shorten(name, 60)).join(', '),
    );
    const annotations = plural(shown, '{0} annotation', '{0} annotations');
    this.fold.title =
      unmatched > 0 ? t('{0}; of {1} the file has only one end', annotations, count(unmatched)) : annotations;
    const focused = this.items.findIndex(({ button }) => button === document.activeElement);
    this.items = [];
    const rows = answer.lanes.map((lane, row) => {
      const strip = element('div', { class: 'lane-strip' });
      for (const item of lane.items) {
        const button = this.button(item, lane);
        this.items.push({ item, button, row });
        strip.append(button);
      }
      const first = row === 0 || answer.lanes[row - 1]?.kind !== lane.kind;
      return element(
        'div',
        { class: `lane lane-${lane.kind}`, role: 'group', attributes: { 'aria-label': laneName(lane) } },
        element(
          'span',
          { class: 'lane-name', attributes: { 'aria-hidden': 'true' } },
          first && lane.kind !== 'annotations' && KINDS[lane.kind],
        ),
        strip,
      );
    });
    replace(this.body, ...rows);
    const stop = this.items[Math.min(Math.max(focused, 0), this.items.length - 1)];
    if (stop) stop.button.tabIndex = 0;
    if (focused >= 0) stop?.button.focus({ preventScroll: true });
    this.place();
  }

  private button(item: AnnotationItem, lane: AnnotationLane): HTMLButtonElement {
    const words = describe(item, this.context.axis);
    return element(
      'button',
      {
        class: `lane-item hue-${item.count > 1 ? 'many' : String(hueOf(item.name))}${item.unmatched ? ` open-${item.unmatched}` : ''}`,
        type: 'button',
        tabIndex: -1,
        title: words,
        attributes: { 'aria-label': `${KINDS[lane.kind]}: ${words}` },
        on: {
          click: (event) => {
            this.pick(item, !event.shiftKey);
          },
        },
      },
      element('bdi', {}, shorten(item.name, 80)),
    );
  }

  /** Where each item lies now, in the pixels that all pictures share. */
  private place(): void {
    const { x0, x1 } = this.context.camera;
    const strip = this.body.querySelector<HTMLElement>('.lane-strip');
    const width = strip?.clientWidth ?? 0;
    if (width === 0) return;
    const scale = width / (x1 - x0);
    for (const { item, button } of this.items) {
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
  private pick(item: AnnotationItem, zoom: boolean): void {
    this.context.cursors.span(item.from_moment, item.to_moment);
    if (zoom) {
      const margin = Math.max((item.x1 - item.x0) * 0.05, this.context.bounds.minWidth / 2);
      this.context.moveTo(item.x0 - margin, item.x1 + margin, true);
    }
    this.context.say(t('{0}: between the cursors', describe(item, this.context.axis)));
  }

  private setOpen(open: boolean): void {
    this.open = open;
    this.body.hidden = !open;
    this.fold.setAttribute('aria-expanded', String(open));
    if (open) this.ask();
  }

  /** Left and right within a lane, up and down between lanes. */
  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const at = this.items.findIndex(({ button }) => button === event.target);
    const here = this.items[at];
    if (!here) return;
    const seen = this.items.filter(({ button }) => !button.hidden);
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
    if (!next) return;
    here.button.tabIndex = -1;
    next.button.tabIndex = 0;
    next.button.focus({ preventScroll: true });
  }
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
