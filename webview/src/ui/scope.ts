// Which allocations the panes are about: at the peak, at the cursor, or between two cursors.

import type { Cursors, Scope, SetKind } from '../cursors';
import { Choice } from './choice';
import { add, element } from './dom';

const KINDS: readonly { readonly value: SetKind; readonly text: string }[] = [
  { value: 'live', text: 'Live at any moment' },
  { value: 'allocated', text: 'Allocated' },
  { value: 'freed', text: 'Freed' },
  { value: 'survived', text: 'Survived: allocated and still live at the end' },
];

export class ScopeBar {
  readonly root: HTMLElement;
  private readonly scope: Choice<Scope>;
  private readonly kind: HTMLSelectElement;

  constructor(private readonly cursors: Cursors) {
    this.scope = new Choice<Scope>(
      'Which moment',
      [
        { value: 'peak', text: 'At the peak' },
        { value: 'cursor', text: 'At the cursor', title: 'Click in the picture, or press M, for a cursor' },
        {
          value: 'between',
          text: 'Between cursors',
          title: 'Shift+click in the picture, or press Shift+M, for a second cursor',
        },
      ],
      (scope) => {
        cursors.setScope(scope);
      },
    );
    this.kind = element('select', {
      class: 'dropdown',
      title: 'Which allocations between the cursors',
      attributes: { 'aria-label': 'Which allocations between the cursors' },
      on: {
        change: () => {
          const kind = KINDS.find(({ value }) => value === this.kind.value);
          if (kind) cursors.setKind(kind.value);
        },
      },
    });
    for (const { value, text } of KINDS) add(this.kind, element('option', { attributes: { value } }, text));
    this.root = element('div', { class: 'scope' }, this.scope.root, this.kind);
    this.update();
  }

  update(): void {
    const { scope, kind, first, second } = this.cursors;
    this.scope.enable('cursor', first !== null);
    this.scope.enable('between', second !== null);
    this.scope.set(scope);
    this.kind.value = kind;
    this.kind.hidden = scope !== 'between';
  }
}
