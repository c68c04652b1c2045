// The panel at the side: the selected allocation with its stack, a source line's allocations, or the device's figures.

import { count, plural, t } from '../base/l10n';
import type {
  AllocationSummary,
  DeviceInfo,
  Frame,
  LineAnswer,
  StackAnswer,
  Totals,
} from '../../../extension/shared/protocol.gen';
import { css, type Rgb } from '../canvas/colour';
import { element, iconButton, replace, type IconName } from '../widgets/dom';
import {
  bytes,
  categoryName,
  codeClass,
  exactBytes,
  hasSource,
  nameOf,
  placeOf,
  peakText,
  stateName,
  time,
} from '../base/format';
import {
  FrameList,
  foldedSection,
  missingNote,
  type Locate,
  partsOf,
  type OpenSource,
  type StackPart,
} from '../widgets/frames-list';
import { shorten, visible } from '../base/text';
import type { Action } from '../shell/keys';

export interface PanelActions {
  readonly run: (action: Action) => void;
  readonly open: OpenSource;
  readonly locate: Locate;
  readonly copy: (text: string) => void;
  readonly select: (allocation: number) => void;
  /** Narrows every view by one more term. */
  readonly narrow: (term: string) => void;
}

export class Panel {
  readonly root = element('aside', { class: 'panel', attributes: { 'aria-label': t('Details') } });
  private readonly body = element('div', { class: 'panel-body' });
  private readonly title = element('h2', {});
  private readonly buttons = element('div', { class: 'panel-buttons' });
  private lists: FrameList[] = [];

  constructor(private readonly actions: PanelActions) {
    replace(this.root, element('header', {}, this.title, this.buttons), this.body);
  }

  /** Nothing is selected: the device's figures. */
  showDevice(device: DeviceInfo): void {
    this.begin(device.name, []);
    replace(this.body, deviceFacts(device));
  }

  /** Selected, but the answer is still on its way. */
  showWaiting(sizeBytes: number | null): void {
    this.begin(sizeBytes === null ? t('Allocation') : bytes(sizeBytes), ['clear']);
    replace(this.body, element('p', { class: 'hint' }, t('Fetching its stack…')));
  }

  /** `filtered`: the totals are of what fits the filter. `byAddress`: neighbours are those of the memory map. */
  showStack(
    answer: StackAnswer,
    colour: Rgb,
    { filtered, byAddress }: { readonly filtered: boolean; readonly byAddress: boolean },
  ): void {
    const { allocation } = answer;
    const named = nameOf(allocation);
    const parts = partsOf(answer);
    const bare = parts.length === 0;
    this.begin(bytes(allocation.size_bytes), ['zoom', 'clear'], colour);
    const label = allocation.label;
    this.lists = [];
    replace(
      this.body,
      element(
        'div',
        { class: 'panel-name' },
        element('bdi', { class: codeClass(allocation) }, shorten(named.title, 120)),
        hasSource(label)
          ? sourceLink(label, this.actions.open)
          : element('p', { class: 'hint' }, t('The file has no Python frame for this allocation.')),
      ),
      bare ? null : sameStackText(answer.same_stack, filtered),
      element(
        'div',
        { class: 'steps', role: 'group', attributes: { 'aria-label': t('Neighbours') } },
        this.step('left', t('Previous of this stack'), 'previousSameStack', '['),
        this.step('right', t('Next of this stack'), 'nextSameStack', ']'),
        this.step('down', byAddress ? t('At a lower address') : t('Older, below'), 'older', 'Alt+ArrowDown'),
        this.step('up', byAddress ? t('At a higher address') : t('Younger, above'), 'younger', 'Alt+ArrowUp'),
      ),
      // of what has no stack the title says why
      ...parts.flatMap((part) => this.part(part, label)),
      ...this.freedBy(answer.freed_frames, bare),
      element('h3', {}, t('Allocation')),
      allocationFacts(allocation, answer.inferred_module),
    );
    this.body.scrollTop = 0;
  }

  private part({ title, hint, frames }: StackPart, label: Frame | null): HTMLElement[] {
    const list = new FrameList(frames, label, this.actions);
    this.lists.push(list);
    return [
      element('h3', {}, title),
      ...(hint === null ? [] : [element('p', { class: 'hint' }, hint)]),
      list.root,
    ];
  }

  /** Where it was freed; unfolded where that is all that is known. */
  private freedBy(frames: readonly Frame[], unfolded: boolean): HTMLElement[] {
    if (frames.length === 0) return [];
    const list = (): HTMLElement => {
      const made = new FrameList(frames, null, this.actions);
      this.lists.push(made);
      return made.root;
    };
    return unfolded ? [element('h3', {}, t('Freed by')), list()] : [foldedSection(t('Freed by'), list)];
  }

  showLine(answer: LineAnswer, filtered: boolean): void {
    this.begin(t('Line {0}', answer.line), ['clear']);
    const { totals } = answer;
    replace(
      this.body,
      element(
        'div',
        { class: 'panel-name' },
        sourceLink(
          { file: answer.file, line: answer.line, function: '', kind: 'user', source: 'recorded' },
          this.actions.open,
        ),
      ),
      answer.stacks.length === 0
        ? element(
            'p',
            { class: 'hint' },
            filtered
              ? t('Nothing that fits the filter has this line in its stack.')
              : t('No allocation in this snapshot has this line in its stack.'),
          )
        : element(
            'p',
            {},
            plural(
              answer.stacks.length,
              'Highlighted: what this line allocated, by {0} stack.',
              'Highlighted: what this line allocated, by {0} stacks.',
            ),
          ),
      filtered && element('p', { class: 'hint' }, t('Of what fits the filter, on this device.')),
      totalFacts(totals),
      totals.largest_allocation !== null && this.largestButton(totals.largest_allocation),
    );
  }

  showProblem(message: string, advice: string): void {
    this.begin(t('No answer'), ['clear']);
    replace(
      this.body,
      element('p', { role: 'alert' }, element('bdi', {}, visible(message))),
      element('p', { class: 'hint' }, element('bdi', {}, visible(advice))),
    );
  }

  sourceMissing(file: string, line: number, lookedFor: string): void {
    if (this.lists.some((list) => list.missing(file, line, lookedFor))) return;
    this.body.querySelector(':scope > .frame-note')?.remove();
    this.body.prepend(missingNote({ file, line }, lookedFor, this.actions.locate));
  }

  private begin(title: string, buttons: readonly ('zoom' | 'clear')[], colour?: Rgb): void {
    this.lists = [];
    const swatch = element('span', { class: 'swatch' });
    if (colour) swatch.style.background = css(colour);
    replace(this.title, colour && swatch, title);
    replace(
      this.buttons,
      buttons.includes('zoom') && this.button('fit', t('Zoom to it'), 'zoomToSelection', 'z'),
      buttons.includes('clear') && this.button('close', t('Clear'), 'clearSelection', 'Escape'),
      buttons.length === 0 && this.button('close', t('Close Details'), 'togglePanel', 's'),
    );
  }

  private button(name: IconName, label: string, action: Action, key: string): HTMLButtonElement {
    return iconButton(
      name,
      label,
      () => {
        this.actions.run(action);
      },
      key,
    );
  }

  private step(name: IconName, label: string, action: Action, key: string): HTMLButtonElement {
    const made = this.button(name, label, action, key);
    made.classList.add('step');
    return made;
  }

  private largestButton(allocation: number): HTMLElement {
    return element(
      'button',
      {
        class: 'button secondary',
        type: 'button',
        on: {
          click: () => {
            this.actions.select(allocation);
          },
        },
      },
      t('Select the largest'),
    );
  }
}

function sourceLink(frame: Frame, open: OpenSource): HTMLElement {
  return element(
    'button',
    {
      class: 'link',
      type: 'button',
      title: `${visible(frame.file)}:${frame.line}`,
      on: {
        click: (event) => {
          open(frame, event.ctrlKey || event.metaKey);
        },
      },
    },
    element('bdi', {}, shorten(placeOf(frame), 60)),
  );
}

/** "128 allocations, 1.2 GiB allocated in total, 300 MiB live at the peak" */
export function sameStackSentence(totals: Totals): string {
  return plural(
    totals.count,
    '{0} allocation, {1} allocated in total, {2} live at the peak',
    '{0} allocations, {1} allocated in total, {2} live at the peak',
    bytes(totals.total_bytes),
    bytes(totals.live_at_peak_bytes),
  );
}

function sameStackText(totals: Totals, filtered: boolean): HTMLElement {
  return element(
    'p',
    { class: 'same-stack', title: exactBytes(totals.total_bytes) },
    element(
      'span',
      { class: 'same-stack-title' },
      filtered ? t('Same stack, of what fits the filter') : t('Same stack'),
    ),
    element('span', {}, sameStackSentence(totals)),
  );
}

type Fact = readonly [name: string, value: string, title?: string] | null;

function facts(rows: readonly Fact[]): HTMLElement {
  return element(
    'dl',
    { class: 'facts' },
    ...rows.flatMap((row) => {
      if (!row) return [];
      const [name, value, title] = row;
      return [
        element('dt', {}, name),
        element('dd', title === undefined ? {} : { title }, element('bdi', {}, value)),
      ];
    }),
  );
}

function momentText(moment: number, at: number | null): string {
  return at === null ? t('event {0}', count(moment)) : t('{0} (event {1})', time(at), count(moment));
}

/** "1.2 GiB in 34 allocations" */
function inAllocations(size: number, many: number): string {
  return plural(many, '{1} in {0} allocation', '{1} in {0} allocations', bytes(size));
}

function deviceFacts(d: DeviceInfo): HTMLElement {
  const live = inAllocations(d.live_at_end_bytes, d.live_at_end_count);
  const held = d.reserved_at_end_bytes;
  const reserved: Fact = held === null ? null : [t('Reserved at the end'), bytes(held), exactBytes(held)];
  if (d.events === 0) return facts([[t('Live'), live, exactBytes(d.live_at_end_bytes)], reserved]);
  return facts([
    [t('Peak'), peakText(d), exactBytes(d.peak_bytes)],
    [t('Live at the start'), bytes(d.live_at_start_bytes), exactBytes(d.live_at_start_bytes)],
    [t('Live at the end'), live, exactBytes(d.live_at_end_bytes)],
    // Other recorders than the CUDA allocator's know of nothing that is reserved.
    held === 0 ? null : reserved,
    [t('Allocations'), count(d.allocations)],
    [t('Events'), count(d.events)],
    d.ooms > 0 ? [t('Out of memory'), plural(d.ooms, '{0} time', '{0} times')] : null,
  ]);
}

function totalFacts(totals: Totals): HTMLElement {
  return facts([
    [t('Total allocated'), bytes(totals.total_bytes), exactBytes(totals.total_bytes)],
    [t('Allocations'), count(totals.count)],
    [
      t('Live at the peak'),
      t('{0} in {1}', bytes(totals.live_at_peak_bytes), count(totals.live_at_peak_count)),
      exactBytes(totals.live_at_peak_bytes),
    ],
    [t('Live at the end'), bytes(totals.live_at_end_bytes), exactBytes(totals.live_at_end_bytes)],
    [t('Largest'), bytes(totals.largest_bytes), exactBytes(totals.largest_bytes)],
  ]);
}

function allocationFacts(a: AllocationSummary, inferredModule: string | null): HTMLElement {
  const start = a.before_trace
    ? t('allocated before recording')
    : momentText(a.start_moment, a.start_time_us);
  const end = a.end_moment === null ? t('never freed in the trace') : momentText(a.end_moment, a.end_time_us);
  return facts([
    [t('Requested'), `${bytes(a.size_bytes)} (${exactBytes(a.size_bytes)})`],
    a.rounded_bytes === null
      ? null
      : [t('Rounded'), `${bytes(a.rounded_bytes)} (${exactBytes(a.rounded_bytes)})`],
    [t('Start'), start],
    [t('End'), end],
    a.lifetime_us === null ? null : [t('Lifetime'), time(a.lifetime_us)],
    [t('State'), stateName(a.state)],
    a.category === null ? null : [t('Category'), shorten(categoryName(a.category), 60)],
    inferredModule === null ? null : [t('Module'), t('{0} (inferred)', shorten(inferredModule, 200))],
    a.operator === null ? null : [t('Operator'), shorten(a.operator, 80)],
    [t('Address'), shorten(a.address, 40)],
    [t('Stream'), shorten(a.stream, 40)],
    [t('Number'), count(a.allocation)],
  ]);
}
