// A series of heap dumps: what the types retain in each, as lines over time.

import { computed, signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { SeriesDump } from '../../../extension/shared/messages';
import type { HeapSeries } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { bytes } from '../base/format';
import { plural, t } from '../base/l10n';
import { turned } from '../base/latest';
import { shorten, visible } from '../base/text';
import type { BannerText } from '../compare/bar';
import type { GraphSession } from './session';
import { useResized } from '../widgets/resized';
import { shortType } from './words';

/** In CSS pixels, as is all of the chart. */
const HEIGHT = 128;
const LEFT = 66;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 20;
/** Until the width is known. */
const WIDTH = 480;
/** Room that the name of a dump takes at least, and a letter of it. */
const NAME_PX = 70;
const LETTER_PX = 7;
/** The first and the last name are turned inwards, so that one and a half stand between two dumps. */
const NAME_SHARE = 0.62;
/** So many types have a line of their own, and the one that is marked. */
const LINES = 6;

export class SeriesPart {
  /** The type whose line is marked. */
  readonly marked = signal<string | null>(null);
  private readonly dumps = signal<readonly SeriesDump[]>([]);
  private readonly answer = signal<HeapSeries | null>(null);

  constructor(
    private readonly context: GraphSession,
    private readonly changed: () => void,
  ) {}

  get count(): number {
    return this.dumps.value.length;
  }

  /** The open ones that were written before the view's own, and those after it, by short names. */
  get around(): readonly [readonly SeriesDump[], readonly SeriesDump[]] {
    const dumps = this.dumps.value;
    const own = dumps.findIndex(({ is }) => is === 'own');
    const names = withoutSameEnd(dumps.map(({ name }) => name));
    const named = dumps.map((dump, at) => ({ ...dump, name: names[at] ?? dump.name }));
    const open = (some: readonly SeriesDump[]) => some.filter(({ is }) => is === 'open');
    return [open(named.slice(0, own)), open(named.slice(own + 1))];
  }

  /** What the series comes to in a sentence; empty until it is known. */
  get words(): string {
    const found = this.answer.value;
    if (!found) return '';
    const { shallow_bytes: whole, objects, types } = found;
    const failed = this.dumps.value.filter(({ is }) => is === 'failed').map(({ name }) => name);
    const growing = types.filter(({ grows }) => grows).length;
    const sums = plural(
      objects.length,
      '{0} dump, from {1} to {2} in total.',
      '{0} dumps, from {1} to {2} in total.',
      bytes(whole[0] ?? 0),
      bytes(whole.at(-1) ?? 0),
    );
    const grows =
      growing === 0
        ? t('No type grows throughout.')
        : plural(
            growing,
            '{0} type of those listed grows throughout.',
            '{0} types of those listed grow throughout.',
          );
    return [sums, grows, ...(failed.length > 0 ? [t('Left out: {0}.', failed.join(', '))] : [])].join(' ');
  }

  receive(dumps: readonly SeriesDump[]): void {
    this.dumps.value = dumps;
    this.answer.value = null;
    this.changed();
  }

  mark(type: string): void {
    this.marked.value = this.marked.value === type ? null : type;
  }

  /** Another filter holds: the lines are of other objects. */
  forget(): void {
    this.answer.value = null;
  }

  ask(search: string, limit: number): Pending<HeapSeries> {
    const { api, filter } = this.context;
    const most = Math.min(limit, 1000);
    return turned(api.request('memlens/heapSeries', { filter, search, limit: most }), (found) => {
      const isFirst = this.answer.value === null;
      this.answer.value = found;
      if (isFirst) this.context.say(this.words);
      return found;
    });
  }

  /** How to begin, or what is being opened; null when there are dumps to show. */
  get banner(): BannerText | null {
    const post = (type: 'chooseSeries' | 'clearSeries') => (): void => this.context.api.post({ type });
    const choose = { text: t('Choose Dumps…'), press: post('chooseSeries') };
    const dumps = this.dumps.value;
    if (dumps.length === 0)
      return {
        text: t('Several dumps of one program, one line per type: what never stops growing is what leaks.'),
        buttons: [choose],
      };
    const opening = dumps.filter(({ is }) => is === 'opening').length;
    if (opening > 0)
      return {
        text: plural(
          dumps.length - 1,
          'Opening {0} dump: {1} to go',
          'Opening {0} dumps: {1} to go',
          opening,
        ),
        buttons: [{ text: t('Cancel'), press: post('clearSeries'), second: true }],
      };
    if (dumps.some(({ is }) => is === 'open')) return null;
    const failed = dumps.find(({ is }) => is === 'failed');
    return {
      text: `${shorten(failed?.name ?? '', 60)}: ${visible(failed?.message ?? '')}`,
      buttons: [choose, { text: t('Close'), press: post('clearSeries'), second: true }],
    };
  }

  /** The types that have a line. */
  private readonly lines = computed(() =>
    (this.answer.value?.types ?? []).filter(({ type }, at) => at < LINES || type === this.marked.value),
  );

  readonly Chart = (): VNode => {
    const room = useRef<HTMLDivElement>(null);
    const width = useSignal(WIDTH);
    useResized(room, () => {
      const wide = room.current?.clientWidth ?? 0;
      if (wide > 0) width.value = wide;
    });
    return (
      <div class="heap-series">
        <div class="series-room" ref={room}>
          {this.lines.value.length > 0 && this.drawChart(width.value)}
        </div>
        <ul class="series-legend">
          {this.lines.value.map(({ type }, at) => (
            <li key={type} class={this.lineClass(type, at)} title={visible(type)}>
              <span class="series-key" aria-hidden="true" />
              <bdi class="code">{shorten(shortType(type), 48)}</bdi>
            </li>
          ))}
        </ul>
      </div>
    );
  };

  private drawChart(width: number): VNode {
    const lines = this.lines.value;
    const open = this.dumps.value.filter(({ is }) => is === 'own' || is === 'open');
    const most = Math.max(...lines.flatMap(({ retained_bytes: retained }) => retained), 1);
    const each = (width - LEFT - RIGHT) / Math.max(open.length - 1, 1);
    const names = withoutSameStart(withoutSameEnd(open.map(({ name }) => name)));
    // so many names have room side by side, the first and the last of which are turned inwards
    const step = Math.ceil(NAME_PX / each);
    const letters = Math.max(Math.floor((each * step * NAME_SHARE) / LETTER_PX), 6);
    return (
      <svg
        class="series-chart"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label={t('What the types retain in each dump; the table shows the same in figures')}
      >
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line
              class="series-rule"
              x1={LEFT}
              x2={width - RIGHT}
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
            {at % step === 0 && shorten(names[at] ?? name, letters)}
            <title>{visible(name)}</title>
          </text>
        ))}
        {lines.map(({ type, retained_bytes: retained }, at) => (
          <g key={type} class={`series-line ${this.lineClass(type, at)}`}>
            <title>{visible(type)}</title>
            <polyline points={pointsOf(retained, most, width)} />
            {retained.map((value, dump) => (
              <circle key={dump} cx={LEFT + dump * each} cy={heightOf(value, most)} r={2.5}>
                <title>{`${visible(type)}: ${bytes(value)}`}</title>
              </circle>
            ))}
          </g>
        ))}
      </svg>
    );
  }

  private lineClass(type: string, at: number): string {
    return `line-${Math.min(at, LINES)}${type === this.marked.value ? ' marked' : ''}`;
  }
}

/** The points of a line, evenly apart, and 0 at the bottom. */
export function pointsOf(values: readonly number[], most: number, width = WIDTH): string {
  const each = (width - LEFT - RIGHT) / Math.max(values.length - 1, 1);
  return values
    .map((value, at) => `${(LEFT + at * each).toFixed(1)},${heightOf(value, most).toFixed(1)}`)
    .join(' ');
}

/** Names of files without the extension, where all have the same. */
export function withoutSameEnd(names: readonly string[]): readonly string[] {
  const [end = ''] = /(\.[a-z]\w*)+$/i.exec(names[0] ?? '') ?? [];
  return end !== '' && names.every((name) => name.endsWith(end) && name.length > end.length)
    ? names.map((name) => name.slice(0, -end.length))
    : names;
}

/** Names without the words that all of them begin with, where each has more. */
export function withoutSameStart(names: readonly string[]): readonly string[] {
  const [first = '', ...others] = names;
  const starts = [...first.matchAll(/[-_. ]+/g)].map(({ index, 0: between }) => index + between.length);
  const same = starts.findLast((end) => others.every((name) => name.startsWith(first.slice(0, end))));
  return same !== undefined && names.every(({ length }) => length > same)
    ? names.map((name) => name.slice(same))
    : names;
}

function heightOf(value: number, most: number): number {
  return HEIGHT - BOTTOM - (value / Math.max(most, 1)) * (HEIGHT - TOP - BOTTOM);
}
