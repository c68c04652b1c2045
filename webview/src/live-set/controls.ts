// The table's row: what its figures come to, and in the settings by what it is grouped and what narrows it.

import type { SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { Attribution } from '../shell/attribution';
import { never } from '../shell/model';
import type { Choice } from '../widgets/choice';
import { settingsButton } from '../shell/settings';
import { add, debounce, element, setText } from '../widgets/dom';
import type { GroupKind } from './tree';

const KINDS: readonly { readonly value: GroupKind; readonly text: string }[] = [
  { value: 'line', text: 'Line' },
  { value: 'function', text: 'Function' },
  { value: 'file', text: 'File' },
  { value: 'module', text: 'Module' },
  { value: 'stack', text: 'Stack' },
  { value: 'category', text: 'Category' },
  { value: 'stream', text: 'Stream' },
  { value: 'pool', text: 'Pool' },
  { value: 'package', text: 'Package' },
  { value: 'thread', text: 'Thread' },
  { value: 'label', text: 'Label' },
  { value: 'size', text: 'Size' },
];
const OF_SAMPLES: readonly GroupKind[] = ['package', 'thread', 'label'];
const OF_TRACES: readonly GroupKind[] = ['module', 'category', 'stream', 'pool'];

/** What a snapshot or a profile can be grouped by, as far as the file says. */
export function kindsFor(info: SnapshotInfo): readonly GroupKind[] {
  return KINDS.map(({ value }) => value).filter((kind) => groupsBy(info, kind));
}

function groupsBy(info: SnapshotInfo, kind: GroupKind): boolean {
  switch (info.model) {
    case 'timeline':
      return !OF_SAMPLES.includes(kind) && (kind !== 'category' || info.categories.length > 0);
    case 'profile':
      if (kind === 'size') return info.has_sizes;
      if (kind === 'thread') return info.labels.some((key) => /^(thread|tid)/i.test(key));
      if (kind === 'label') return info.labels.some((key) => key !== 'bytes');
      return !OF_TRACES.includes(kind);
    case 'graph':
      return false;
    default:
      return never(info);
  }
}

/** Groups that are places in code, to one of which a stack is charged. */
const PLACES: readonly GroupKind[] = ['line', 'function', 'file', 'stack'];
const LEVELS = 3;
const APPLY_AFTER_MS = 350;

export interface ControlEvents {
  grouped(by: readonly GroupKind[]): void;
  narrowed(filter: string): void;
}

export class Controls {
  readonly root: HTMLElement;
  private readonly levels: HTMLSelectElement[];
  private readonly narrow: HTMLInputElement;
  private readonly error = element('span', { class: 'live-set-error', role: 'alert' });
  /** Takes back what narrows this table alone. */
  private readonly narrowed = element('button', {
    class: 'chip',
    type: 'button',
    hidden: true,
    title: 'Clear the filter of this table',
    on: {
      click: () => {
        this.narrow.value = '';
        this.events.narrowed('');
      },
    },
  });
  private readonly summary = element('span', { class: 'live-set-summary', role: 'status' });

  constructor(
    can: readonly GroupKind[],
    by: readonly GroupKind[],
    private readonly attribution: Choice<Attribution>,
    private readonly events: ControlEvents,
  ) {
    const kinds = KINDS.filter(({ value }) => can.includes(value));
    // a profile has no single allocations to be listed
    const plain = can.includes('module');
    this.levels = Array.from({ length: LEVELS }, (_, level) => {
      const label = level === 0 ? 'Group by' : `Then by (level ${level + 1})`;
      const select = element('select', {
        class: 'dropdown',
        title: label,
        attributes: { 'aria-label': label },
        on: {
          change: () => {
            this.arrange();
            events.grouped(this.by);
          },
        },
      });
      if (plain || level > 0)
        add(select, element('option', { attributes: { value: '' } }, level === 0 ? 'Nothing' : 'nothing'));
      for (const { value, text } of kinds) add(select, element('option', { attributes: { value } }, text));
      select.value = by[level] ?? '';
      return select;
    });
    const applySoon = debounce(APPLY_AFTER_MS, () => {
      events.narrowed(this.narrow.value.trim());
    });
    this.narrow = element('input', {
      class: 'live-set-narrow',
      type: 'search',
      title: 'The terms of the filter above, for this table alone',
      attributes: {
        'aria-label': 'Filter this table',
        placeholder: 'Filter this table',
        spellcheck: 'false',
      },
      on: {
        input: () => {
          applySoon();
        },
        keydown: (event) => {
          if (event.key !== 'Enter') return;
          applySoon.cancel();
          events.narrowed(this.narrow.value.trim());
        },
      },
    });
    const [first, ...others] = this.levels;
    this.root = element(
      'div',
      { class: 'live-set-controls' },
      this.error,
      this.summary,
      this.narrowed,
      settingsButton('Table settings', [
        ...(first ? [{ text: 'Group by', control: first }] : []),
        ...others.map((control) => ({ text: 'then by', control })),
        { text: 'Charged to', control: this.attribution.root },
        { text: 'Filter', control: this.narrow },
      ]),
    );
    this.arrange();
  }

  /** Groups by something else, as if it had been chosen. */
  set(kind: GroupKind): void {
    this.levels.forEach((select, level) => {
      select.value = level === 0 ? kind : '';
    });
    this.arrange();
    this.events.grouped(this.by);
  }

  get by(): GroupKind[] {
    const chosen = this.levels.flatMap(
      ({ value }) => KINDS.find((kind) => kind.value === value)?.value ?? [],
    );
    return [...new Set(chosen)];
  }

  showStatus(summary: string, error: string): void {
    setText(this.summary, summary);
    setText(this.error, error);
    const text = this.narrow.value.trim();
    this.narrowed.hidden = text === '';
    setText(this.narrowed, `${text} ×`);
    this.narrow.setAttribute('aria-invalid', String(error !== ''));
  }

  /** Whether rows are places in code, to which stacks are charged by one of the two rules. */
  get chargesPlaces(): boolean {
    return this.by.some((kind) => PLACES.includes(kind));
  }

  /** A level can be chosen once the one before it is. */
  private arrange(): void {
    let reached = true;
    this.levels.forEach((select) => {
      select.hidden = !reached;
      if (!reached) select.value = '';
      reached = reached && select.value !== '';
    });
    this.attribution.root.hidden = !this.chargesPlaces;
  }
}
