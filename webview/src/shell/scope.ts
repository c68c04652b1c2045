// Which allocations the panes are about: at the peak, at the cursor, or between two cursors.

import { t } from '../base/l10n';
import type { Cursors, Scope, SetKind } from '../timeline/cursors';
import { add, element, setText } from '../widgets/dom';

const KINDS: readonly { readonly value: SetKind; readonly text: string }[] = [
  { value: 'live', text: t('Live at any moment') },
  { value: 'allocated', text: t('Allocated') },
  { value: 'freed', text: t('Freed') },
  { value: 'survived', text: t('Survived: allocated and still live at the end') },
];

const WAYS: readonly { readonly value: Scope; readonly text: string; readonly title: string }[] = [
  { value: 'peak', text: t('At the peak'), title: t('Show what was live at the peak') },
  { value: 'cursor', text: t('At the cursor'), title: t('Show what was live at the cursor') },
  { value: 'between', text: t('Between cursors'), title: t('Show what happened between both cursors') },
];

/** Says which it is, and has a button for each other one that there is. */
export class ScopeBar {
  readonly root: HTMLElement;
  private readonly text = element('span', { class: 'scope-text', role: 'status' });
  private readonly ways: ReadonlyMap<Scope, HTMLButtonElement>;
  private readonly kind: HTMLSelectElement;

  constructor(
    private readonly cursors: Cursors,
    /** The set in words. */
    private readonly name: () => string,
  ) {
    this.ways = new Map(
      WAYS.map(({ value, text, title }) => {
        const press = (): void => {
          cursors.setScope(value);
        };
        return [
          value,
          element('button', { class: 'link', type: 'button', title, on: { click: press } }, text),
        ];
      }),
    );
    this.kind = element('select', {
      class: 'dropdown',
      title: t('Which allocations between the cursors'),
      attributes: { 'aria-label': t('Which allocations between the cursors') },
      on: {
        change: () => {
          const kind = KINDS.find(({ value }) => value === this.kind.value);
          if (kind) cursors.setKind(kind.value);
        },
      },
    });
    for (const { value, text } of KINDS) add(this.kind, element('option', { attributes: { value } }, text));
    this.root = element('div', { class: 'scope' }, this.text, this.kind, ...this.ways.values());
    this.update();
  }

  update(): void {
    const { scope, kind, first, second } = this.cursors;
    const there: Record<Scope, boolean> = { peak: true, cursor: first !== null, between: second !== null };
    for (const [way, button] of this.ways) button.hidden = way === scope || !there[way];
    const name = this.name();
    setText(this.text, name.charAt(0).toUpperCase() + name.slice(1));
    this.text.title = this.text.textContent;
    this.kind.value = kind;
    this.kind.hidden = scope !== 'between';
  }
}
