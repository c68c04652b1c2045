// Which allocations the panes are about: at the peak, at the cursor, or between two cursors.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { t } from '../base/l10n';
import { visible } from '../base/text';
import type { BarRoom } from '../shell/pane';
import type { Cursors, Scope, SetKind } from './cursors';

const KINDS: readonly { readonly value: SetKind; readonly text: string }[] = [
  { value: 'live', text: t('Live at any moment') },
  { value: 'allocated', text: t('Allocated') },
  { value: 'freed', text: t('Freed') },
  { value: 'survived', text: t('Survived: allocated and still live at the end') },
];

const WAYS: readonly { readonly value: Scope; readonly text: string; readonly title: string }[] = [
  { value: 'peak', text: t('At the peak'), title: t('Show what was live at the peak') },
  { value: 'cursor', text: t('At the cursor'), title: t('Show what was live at the cursor') },
  { value: 'between', text: t('Between cursors'), title: t('Show what happened between the cursors') },
];

/** What can be looked at, and what is. */
interface Chosen {
  readonly scope: Scope;
  readonly kind: SetKind;
  readonly there: Readonly<Record<Scope, boolean>>;
  /** The set in words. */
  readonly name: string;
}

/** Says which it is, and has a button for each other one that there is. */
export class ScopeBar {
  private readonly chosen = signal<Chosen | null>(null);

  constructor(
    private readonly cursors: Cursors,
    /** The set in words. */
    private readonly name: () => string,
  ) {
    this.update();
  }

  /** Hidden where the pane that is shown is about another set. */
  readonly View = ({ hidden }: BarRoom): VNode => (
    <div class="scope" hidden={hidden}>
      <Bar chosen={this.chosen} cursors={this.cursors} />
    </div>
  );

  update(): void {
    const { scope, kind, first, second } = this.cursors;
    const there = { peak: true, cursor: first !== null, between: second !== null };
    this.chosen.value = { scope, kind, there, name: this.name() };
  }
}

interface BarProps {
  readonly chosen: { readonly value: Chosen | null };
  readonly cursors: Cursors;
}

function Bar({ chosen: { value: chosen }, cursors }: BarProps): VNode | null {
  if (!chosen) return null;
  const { scope, kind, there } = chosen;
  const name = visible(chosen.name.charAt(0).toUpperCase() + chosen.name.slice(1));
  return (
    <>
      <span class="scope-text" role="status" title={name}>
        {name}
      </span>
      <select
        class="dropdown"
        title={t('Which allocations between the cursors')}
        aria-label={t('Which allocations between the cursors')}
        hidden={scope !== 'between'}
        value={kind}
        onChange={({ currentTarget }) => {
          const picked = KINDS.find(({ value }) => value === currentTarget.value);
          if (picked) cursors.setKind(picked.value);
        }}
      >
        {KINDS.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      {WAYS.map(({ value, text, title }) => (
        <button
          key={value}
          type="button"
          class="link"
          title={title}
          hidden={value === scope || !there[value]}
          onClick={() => cursors.setScope(value)}
        >
          {text}
        </button>
      ))}
    </>
  );
}
