// One out-of-memory event as text and tables. Everything in it can be reached by Tab and read aloud.

import type {
  AllocationSummary,
  Finding,
  FreePlace,
  Frame,
  OomAnswer,
  PinnedSegment,
} from '../../../../extension/shared/protocol.gen';
import { gapParts } from '../gap';
import { element, replace } from '../../widgets/dom';
import { bytes, count, counted, exactBytes, hasSource, nameOf, placeOf } from '../../base/format';
import { shorten } from '../../base/text';

export interface OomActions {
  goTo(): void;
  open(frame: Frame, beside: boolean): void;
  select(allocation: number): void;
  light(stacks: readonly number[]): void;
}

const PLACES: Record<FreePlace['why'], string> = {
  usable: 'For this request',
  rest: 'Rests of at most 1 MiB that are not split off',
  other_size_class: 'Segments of the other size class',
  other_pool: 'Private pools that are not the request’s',
  other_stream: 'Segments of other streams',
};

const FEW = 8;

export function oomArticle(answer: OomAnswer, deviceName: string, actions: OomActions): HTMLElement {
  return element(
    'article',
    {},
    element('h2', {}, answer.headline),
    element(
      'p',
      { class: 'oom-head' },
      button('Go to the event', 'button secondary', () => {
        actions.goTo();
      }),
      element('span', {}, `${deviceName}, stream ${streamName(answer.stream)}`),
      answer.pool !== null && element('span', {}, `pool ${answer.pool}`),
      answer.asked_at === null
        ? element('span', {}, element('bdi', {}, answer.asked_by))
        : element('span', {}, 'asked for at ', frameLink(answer.asked_at, null, actions)),
    ),
    element(
      'div',
      { class: 'oom-columns' },
      element(
        'div',
        {},
        ...findings('What happened', answer, false, actions),
        ...findings('What would have helped', answer, true, actions),
      ),
      element('div', {}, ...gapTable(answer), ...placesTable(answer)),
    ),
    ...linesTable(answer, actions),
    ...pinningTable(answer, actions),
    ...pinnedTable(answer, actions),
  );
}

function findings(
  title: string,
  answer: OomAnswer,
  advice: boolean,
  actions: OomActions,
): (HTMLElement | false)[] {
  const mine = answer.findings.filter((finding) => finding.advice === advice);
  if (mine.length === 0) return [];
  return [
    element('h3', {}, title),
    element('ul', { class: 'oom-findings' }, ...mine.map((finding) => findingItem(finding, actions))),
  ];
}

function findingItem(finding: Finding, actions: OomActions): HTMLElement {
  const { text, frame, allocation } = finding;
  return element(
    'li',
    { attributes: { 'data-code': finding.code } },
    element('bdi', {}, text),
    ' ',
    frame !== null && hasSource(frame) && frameLink(frame, null, actions),
    frame !== null && allocation !== null && ' ',
    allocation !== null && allocationLink('Show the allocation', allocation, actions),
  );
}

function gapTable({ gap, segments_known: known }: OomAnswer): HTMLElement[] {
  return [
    table(
      known ? `Reserved: ${bytes(gap.reserved_bytes)}` : `Active: ${bytes(gap.active_bytes)}`,
      ['What', 'Bytes'],
      gapParts(gap).map(({ name, bytes: size }) => [
        element('td', {}, name),
        number(size, gap.reserved_bytes),
      ]),
    ),
  ];
}

function placesTable(answer: OomAnswer): HTMLElement[] {
  if (answer.places.length === 0) return [];
  return [
    table(
      'Free within segments',
      ['Where', 'Bytes', 'Pieces', 'Largest'],
      answer.places.map((place) => [
        element('td', {}, PLACES[place.why]),
        number(place.bytes, answer.gap.reserved_bytes),
        element('td', { class: 'number' }, count(place.pieces)),
        element(
          'td',
          { class: 'number', title: `at ${place.largest_address}, ${exactBytes(place.largest_bytes)}` },
          bytes(place.largest_bytes),
        ),
      ]),
    ),
  ];
}

function linesTable(answer: OomAnswer, actions: OomActions): HTMLElement[] {
  if (answer.lines.length === 0) return [];
  const all = answer.lines.reduce((sum, line) => sum + line.bytes, 0);
  return [
    table(
      'Live at that moment, by line',
      ['Line of code', 'Bytes', 'Allocations', 'Largest'],
      answer.lines.map((line) => [
        lineCell(line.frame, line.operator, line.stacks, actions),
        number(line.bytes, all),
        element('td', { class: 'number' }, count(line.count)),
        element(
          'td',
          { class: 'number' },
          allocationLink(bytes(line.largest_bytes), line.largest_allocation, actions),
        ),
      ]),
    ),
  ];
}

function pinningTable(answer: OomAnswer, actions: OomActions): HTMLElement[] {
  if (answer.pinning.length === 0) return [];
  return [
    table(
      'Lines whose blocks hold split segments',
      ['Line of code', 'Free beside its blocks', 'of that held by it alone', 'Its blocks', 'Segments'],
      answer.pinning.map((line) => [
        lineCell(line.frame, line.operator, line.stacks, actions),
        number(line.pinned_bytes, answer.gap.reserved_bytes),
        number(line.alone_bytes, answer.gap.reserved_bytes),
        element(
          'td',
          { class: 'number' },
          allocationLink(`${bytes(line.bytes)} in ${count(line.count)}`, line.largest_allocation, actions),
        ),
        element('td', { class: 'number' }, count(line.segments)),
      ]),
    ),
  ];
}

function pinnedTable(answer: OomAnswer, actions: OomActions): HTMLElement[] {
  if (answer.pinned.length === 0) return [];
  const more = answer.pinned_count - answer.pinned.length;
  const title = `Segments that the request could have used but for the blocks in them: ${counted(answer.pinned_count, 'segment')}`;
  const row = (segment: PinnedSegment): HTMLElement[] => [
    element(
      'td',
      {},
      element('bdi', { class: 'code' }, segment.address),
      segment.expandable && element('span', { class: 'muted' }, ' expandable'),
    ),
    element('td', { class: 'number' }, bytes(segment.size_bytes)),
    number(segment.free_bytes, segment.size_bytes),
    element('td', { class: 'number' }, bytes(segment.largest_free_bytes)),
    element('td', {}, segment.large_enough ? 'large enough' : 'too small'),
    element(
      'td',
      { class: 'oom-blocks' },
      ...segment.blocks.map((block) => blockPart(block, actions)),
      segment.block_count > segment.blocks.length &&
        element(
          'span',
          { class: 'muted' },
          `and ${counted(segment.block_count - segment.blocks.length, 'more block')}`,
        ),
    ),
  ];
  const made = table(
    title,
    ['Segment', 'Size', 'Free', 'Largest piece', 'If it were empty', 'Blocks in it'],
    answer.pinned.map(row),
  );
  return more > 0
    ? [made, element('p', { class: 'muted' }, `${counted(more, 'more segment')} with less to gain.`)]
    : [made];
}

function blockPart(block: AllocationSummary, actions: OomActions): HTMLElement {
  const { label } = block;
  return element(
    'span',
    { class: 'oom-block' },
    allocationLink(bytes(block.rounded_bytes ?? block.size_bytes), block.allocation, actions),
    ' ',
    hasSource(label)
      ? frameLink(label, null, actions)
      : element('bdi', { class: 'muted' }, shorten(nameOf(block).title, 40)),
  );
}

function lineCell(
  frame: Frame | null,
  operator: string | null,
  stacks: readonly number[],
  actions: OomActions,
): HTMLElement {
  return element('td', { class: 'wide' }, frameLink(frame, operator, actions, stacks));
}

/** A frame that opens its line, or what there is to say where it has none. Its stacks are lit with it. */
function frameLink(
  frame: Frame | null,
  operator: string | null,
  actions: OomActions,
  stacks: readonly number[] = [],
): HTMLElement {
  if (!hasSource(frame)) {
    const text = operator ?? frame?.function ?? 'No stack';
    return element('bdi', { class: frame ? 'code' : 'muted' }, shorten(text, 70));
  }
  return element(
    'button',
    {
      class: 'link',
      type: 'button',
      title: `${shorten(frame.file, 300)}:${frame.line}`,
      on: {
        click: (event) => {
          if (stacks.length > 0) actions.light(stacks);
          actions.open(frame, event.ctrlKey || event.metaKey);
        },
      },
    },
    element('bdi', { class: 'code' }, shorten(frame.function, 50)),
    ' ',
    element('bdi', { class: 'place' }, shorten(placeOf(frame), 60)),
  );
}

function allocationLink(text: string, allocation: number, actions: OomActions): HTMLElement {
  const link = button(text, 'link', () => {
    actions.select(allocation);
  });
  link.title = `Select allocation ${count(allocation)}`;
  link.dataset['allocation'] = String(allocation);
  return link;
}

function button(text: string, names: string, press: () => void): HTMLButtonElement {
  return element('button', { class: names, type: 'button', on: { click: press } }, text);
}

/** A size with a bar for its share. */
function number(size: number, of: number): HTMLElement {
  const bar = element('span', { class: 'oom-bar', attributes: { 'aria-hidden': 'true' } });
  bar.style.setProperty('--share', String(of > 0 ? Math.min(Math.max(size / of, 0), 1) : 0));
  return element('td', { class: 'number', title: exactBytes(size) }, bar, bytes(size));
}

/** A table of which the first rows are shown; a button shows the others. */
function table(title: string, columns: readonly string[], rows: readonly HTMLElement[][]): HTMLElement {
  const body = element('tbody', {});
  const add = (some: readonly HTMLElement[][]): void => {
    for (const cells of some) body.append(element('tr', {}, ...cells));
  };
  add(rows.slice(0, FEW));
  const made = element(
    'table',
    {},
    element('caption', {}, title),
    element(
      'thead',
      {},
      element('tr', {}, ...columns.map((name) => element('th', { attributes: { scope: 'col' } }, name))),
    ),
    body,
  );
  if (rows.length <= FEW) return made;
  const more = button(`Show ${counted(rows.length - FEW, 'more row')}`, 'link', () => {
    add(rows.slice(FEW));
    const next = body.rows[FEW];
    more.remove();
    next?.querySelector<HTMLElement>('button')?.focus();
  });
  const whole = element('div', {});
  replace(whole, made, more);
  return whole;
}

/** 0 is the default stream; others are the driver's addresses of them. */
function streamName(stream: string): string {
  return stream === '0' ? '0 (default)' : stream;
}
