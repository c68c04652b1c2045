// A series of heap dumps: what the types retain in each, as lines over time.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { SeriesDump } from '../../../extension/shared/messages';
import type { HeapSeries } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import { element } from '../widgets/dom';
import { bytes, counted } from '../base/format';
import { shorten, visible } from '../base/text';
import type { GraphContext } from './context';
import { shortType } from './words';

const WIDTH = 720;
const HEIGHT = 150;
const LEFT = 64;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;
/** So many types have a line of their own, and the one that is marked. */
const LINES = 6;

export class SeriesPart {
  readonly root = element('div', { class: 'heap-series' });
  /** The type whose line is marked. */
  marked: string | null = null;
  private readonly dumps = signal<readonly SeriesDump[]>([]);
  private readonly answer = signal<HeapSeries | null>(null);
  private readonly chosen = signal<string | null>(null);

  constructor(
    private readonly context: GraphContext,
    private readonly changed: () => void,
  ) {
    render(<Chart dumps={this.dumps} answer={this.answer} marked={this.chosen} />, this.root);
  }

  get count(): number {
    return this.dumps.value.length;
  }

  get words(): string {
    const found = this.answer.value;
    if (!found) return '';
    const [first = 0, last = 0] = [found.shallow_bytes[0], found.shallow_bytes.at(-1)];
    const growing = found.types.filter(({ grows }) => grows).length;
    const failed = this.dumps.value.filter(({ is }) => is === 'failed').map(({ name }) => name);
    const missing = failed.length > 0 ? ` Left out: ${failed.join(', ')}.` : '';
    return `${counted(found.objects.length, 'dump')}, from ${bytes(first)} to ${bytes(last)} in all; ${
      growing === 0 ? 'no type grows' : `${counted(growing, 'type')} of those listed grow`
    } throughout.${missing}`;
  }

  receive(dumps: readonly SeriesDump[]): void {
    this.dumps.value = dumps;
    this.answer.value = null;
    this.changed();
  }

  mark(type: string): void {
    this.marked = this.marked === type ? null : type;
    this.chosen.value = this.marked;
  }

  /** Another filter holds: the lines are of other objects. */
  forget(): void {
    this.answer.value = null;
  }

  ask(search: string, limit: number): Pending<HeapSeries> {
    const { api, filter } = this.context;
    const pending = api.request('memlens/heapSeries', { filter, search, limit: Math.min(limit, 1000) });
    return {
      answer: pending.answer.then((found) => {
        const isFirst = this.answer.value === null;
        this.answer.value = found;
        if (isFirst) this.context.say(this.words);
        return found;
      }),
      cancel: () => {
        pending.cancel();
      },
    };
  }

  /** How to begin, or what is being opened; null when there are dumps to show. */
  notice(): HTMLElement | null {
    const { api } = this.context;
    const press = (text: string, type: 'chooseSeries' | 'clearSeries'): HTMLElement =>
      element(
        'button',
        {
          ...{ class: type === 'clearSeries' ? 'button secondary' : 'button', type: 'button' },
          on: {
            click: () => {
              api.post({ type });
            },
          },
        },
        text,
      );
    const box = (text: string, ...buttons: HTMLElement[]): HTMLElement =>
      element(
        'div',
        { class: 'compare-notice', role: 'status' },
        element('p', {}, element('bdi', {}, text)),
        element('div', { class: 'compare-buttons' }, ...buttons),
      );
    const dumps = this.dumps.value;
    if (dumps.length === 0)
      return box(
        'Several dumps of one program, one line a type: what never stops growing is what leaks.',
        press('Choose Dumps…', 'chooseSeries'),
      );
    const opening = dumps.filter(({ is }) => is === 'opening').length;
    if (opening > 0)
      return box(
        `Opening ${counted(dumps.length - 1, 'dump')}: ${opening} to go`,
        press('Cancel', 'clearSeries'),
      );
    const open = dumps.filter(({ is }) => is === 'open').length;
    if (open > 0) return null;
    const why = dumps.find(({ is }) => is === 'failed');
    return box(
      `${shorten(why?.name ?? '', 60)}: ${why?.message ?? ''}`,
      press('Choose Dumps…', 'chooseSeries'),
      press('Close', 'clearSeries'),
    );
  }

  dispose(): void {
    render(null, this.root);
  }
}

interface ChartProps {
  readonly dumps: { readonly value: readonly SeriesDump[] };
  readonly answer: { readonly value: HeapSeries | null };
  readonly marked: { readonly value: string | null };
}

/** The points of a line, evenly apart, and 0 at the bottom. */
export function pointsOf(values: readonly number[], most: number): string {
  const each = (WIDTH - LEFT - RIGHT) / Math.max(values.length - 1, 1);
  return values
    .map((value, at) => `${(LEFT + at * each).toFixed(1)},${heightOf(value, most).toFixed(1)}`)
    .join(' ');
}

function heightOf(value: number, most: number): number {
  return HEIGHT - BOTTOM - (value / Math.max(most, 1)) * (HEIGHT - TOP - BOTTOM);
}

function Chart({ dumps, answer, marked }: ChartProps): VNode {
  const found = answer.value;
  if (!found) return <></>;
  const open = dumps.value.filter(({ is }) => is === 'own' || is === 'open');
  const chosen = found.types.filter(({ type }, at) => at < LINES || type === marked.value);
  const most = Math.max(...chosen.flatMap(({ retained_bytes: retained }) => retained), 1);
  const each = (WIDTH - LEFT - RIGHT) / Math.max(open.length - 1, 1);
  return (
    <>
      <svg
        class="series-chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label="What the types retain in each dump; the table has the same in figures"
      >
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line
              class="series-rule"
              x1={LEFT}
              x2={WIDTH - RIGHT}
              y1={heightOf(part, 1)}
              y2={heightOf(part, 1)}
            />
            <text class="series-text" x={LEFT - 6} y={heightOf(part, 1) + 4} text-anchor="end">
              {bytes(Math.round(most * part))}
            </text>
          </g>
        ))}
        {open.map(({ uri, name }, at) => (
          <text
            key={uri}
            class="series-text"
            x={LEFT + at * each}
            y={HEIGHT - 5}
            text-anchor={at === 0 ? 'start' : at === open.length - 1 ? 'end' : 'middle'}
          >
            {visible(shorten(name, Math.max(Math.floor(90 / open.length), 8)))}
            <title>{visible(name)}</title>
          </text>
        ))}
        {chosen.map(({ type, retained_bytes: retained }, at) => (
          <g
            key={type}
            class={`series-line line-${Math.min(at, LINES)}${type === marked.value ? ' marked' : ''}`}
          >
            <title>{visible(type)}</title>
            <polyline points={pointsOf(retained, most)} />
            {retained.map((value, dump) => (
              <circle key={dump} cx={LEFT + dump * each} cy={heightOf(value, most)} r={2.5}>
                <title>{`${visible(type)}: ${bytes(value)}`}</title>
              </circle>
            ))}
          </g>
        ))}
      </svg>
      <ul class="series-legend">
        {chosen.map(({ type }, at) => (
          <li key={type} class={`line-${Math.min(at, LINES)}${type === marked.value ? ' marked' : ''}`}>
            <span class="series-key" aria-hidden="true" />
            <bdi class="code">{visible(shorten(shortType(type), 48))}</bdi>
          </li>
        ))}
      </ul>
    </>
  );
}
