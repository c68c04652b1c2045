// What is changed when a trace is replayed: chosen anywhere in its view, switched on and off in the pane.

import { signal } from '@preact/signals';
import type { Changes, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { quotedTerm } from '../base/text';
import { devicesOf } from '../shell/model';
import type { ChoiceOption } from '../widgets/choice';

export type ChangeKind = keyof Changes;

/** The kinds of changes, as the pane lists them. */
export const changeKinds = (): readonly ChoiceOption<ChangeKind>[] => [
  { value: 'without', text: t('Left out') },
  { value: 'halve', text: t('Half the bytes'), title: t('As bfloat16 instead of float32') },
  { value: 'free_at_once', text: t('Freed at once'), title: t('Freed before the next event') },
  {
    value: 'recompute',
    text: t('Computed again'),
    title: t('Activation checkpointing: freed when its layer has run, and there again for its backward pass'),
  },
];

export interface Change {
  readonly kind: ChangeKind;
  /** The filter of its allocations. */
  readonly term: string;
  readonly name: string;
  /** Whether the trace is replayed with it now. */
  readonly on: boolean;
}

export class WhatIf {
  private readonly list = signal<readonly Change[]>([]);
  /** The terms of the filter with which the timeline is drawn as if: those that fit the device that is shown. */
  readonly drawn = signal('');

  /** Whether the pane shows which sizes fit. */
  readonly sizesShown = signal(false);

  /** `changed`: a replay with others is to be shown. */
  constructor(private readonly changed: () => void) {}

  get changes(): readonly Change[] {
    return this.list.value;
  }

  /** The filters of what is changed now. */
  get filters(): Changes {
    const of = (kind: ChangeKind): string[] =>
      this.changes.flatMap((each) => (each.on && each.kind === kind ? [each.term] : []));
    return {
      without: of('without'),
      halve: of('halve'),
      free_at_once: of('free_at_once'),
      recompute: of('recompute'),
    };
  }

  /** What is changed now, as terms of a filter. */
  get terms(): string {
    return this.changes
      .flatMap(({ kind, term, on }) => (on ? [quotedTerm(`${kind.replaceAll('_', '-')}:`, term, true)] : []))
      .join(' ');
  }

  add(term: string, name: string): void {
    const others = this.changes.filter((each) => each.term !== term);
    this.set([...others, { kind: 'without', term, name, on: true }]);
  }

  /** Changes one of them otherwise. */
  update(term: string, other: Partial<Pick<Change, 'kind' | 'on'>>): void {
    this.set(this.changes.map((each) => (each.term === term ? { ...each, ...other } : each)));
  }

  remove(term: string): void {
    this.set(this.changes.filter((each) => each.term !== term));
  }

  private set(changes: readonly Change[]): void {
    this.list.value = changes;
    this.changed();
  }
}

/** Whether it has the segments of its allocator, and the requests that filled them. */
export function isReplayed(info: SnapshotInfo): boolean {
  return devicesOf(info).some(
    ({ events, reserved_at_end_bytes: reserved }) => events > 0 && (reserved ?? 0) > 0,
  );
}
