// Which allocations the panes are about: at the peak, at the cursor, or between two cursors.

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

interface ScopeProps extends BarRoom {
  readonly cursors: Cursors;
  /** The set in words. */
  readonly name: string;
}

/** Says which it is, and has a button for each other one that there is. Hidden where the pane is about another set. */
export function ScopeBar({ cursors, name: words, hidden }: ScopeProps): VNode {
  const { scope, kind, first, second } = cursors.now;
  const there = { peak: true, cursor: first !== null, between: second !== null };
  const name = visible(words.charAt(0).toUpperCase() + words.slice(1));
  return (
    <div class="scope" hidden={hidden}>
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
    </div>
  );
}
