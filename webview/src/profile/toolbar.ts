// The row of controls above a profile's flame graph: which value all of it is about, and the filter.

import type { ProfileInfo } from '../../../extension/shared/protocol.gen';
import { press } from '../ui/choice';
import { add, element, iconButton } from '../ui/dom';
import { figureIn } from '../ui/figure';
import { counted } from '../ui/format';

export interface ProfileToolbarEvents {
  value(value: number): void;
  toggleDock(): void;
  showWarnings(): void;
}

export class ProfileToolbar {
  readonly root: HTMLElement;
  readonly filter = element('div', { class: 'filter-slot' });
  private readonly values: HTMLSelectElement;
  private readonly dock: HTMLButtonElement;
  private readonly warnings: HTMLButtonElement;

  constructor(profile: ProfileInfo, warnings: number, events: ProfileToolbarEvents) {
    this.values = element('select', {
      class: 'dropdown',
      title: 'What is measured (v)',
      attributes: { 'aria-label': 'What is measured', 'aria-keyshortcuts': 'v' },
      on: {
        change: () => {
          events.value(Number(this.values.value));
        },
      },
    });
    profile.values.forEach(({ title, name, unit, total }, value) => {
      const text = `${title} · ${figureIn(total, unit)}`;
      add(this.values, element('option', { title: name, attributes: { value } }, text));
    });
    this.dock = iconButton(
      'table',
      'Table, comparison, sizes and SQL',
      () => {
        events.toggleDock();
      },
      't',
    );
    this.warnings = iconButton(
      'warning',
      `${counted(warnings, 'thing')} that this file could not tell`,
      () => {
        events.showWarnings();
      },
    );
    this.root = element(
      'div',
      { class: 'toolbar', role: 'toolbar', attributes: { 'aria-label': 'Profile' } },
      this.values,
      this.filter,
      element('div', { class: 'toolbar-gap' }),
      this.warnings,
      this.dock,
    );
  }

  set(value: number): void {
    this.values.value = String(value);
  }

  update(value: number, dock: boolean, warningsHidden: number): void {
    this.set(value);
    press(this.dock, dock);
    this.warnings.hidden = warningsHidden === 0;
  }
}
