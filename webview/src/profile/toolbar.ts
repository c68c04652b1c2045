// The row of controls above a profile's flame graph: which value all of it is about, and the filter.

import type { ProfileInfo, ProfileValue } from '../../../extension/shared/protocol.gen';
import { Choice, press } from '../ui/choice';
import { add, element, iconButton, setText } from '../ui/dom';
import { figureIn } from '../ui/figure';
import { counted } from '../ui/format';

export interface ProfileToolbarEvents {
  value(value: number): void;
  toggleDock(): void;
  showWarnings(): void;
}

type Meaning = Exclude<ProfileValue['meaning'], 'other'>;
/** The questions that most come with, each a click. */
const QUESTIONS: readonly { readonly value: Meaning; readonly text: string }[] = [
  { value: 'live', text: 'Live' },
  { value: 'peak', text: 'Peak' },
  { value: 'end', text: 'Leaks' },
  { value: 'temporary', text: 'Temporary' },
  { value: 'total', text: 'Total' },
];

export class ProfileToolbar {
  readonly root: HTMLElement;
  readonly filter = element('div', { class: 'filter-slot' });
  private readonly values: HTMLSelectElement;
  private readonly dock: HTMLButtonElement;
  private readonly warnings: HTMLButtonElement;
  private readonly questions: Choice<Meaning>;
  /** Stands in the list of values while a stretch of the run is what all of the view answers for. */
  private readonly ofStretch = element('option', { attributes: { value: '', disabled: '' } });

  constructor(
    private readonly profile: ProfileInfo,
    warnings: number,
    events: ProfileToolbarEvents,
  ) {
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
    const told = QUESTIONS.flatMap(({ value, text }) => {
      const first = this.firstOf(value);
      return first === undefined ? [] : [{ value, text, title: profile.values[first]?.title ?? '' }];
    });
    this.questions = new Choice('What is asked', told, (meaning) => {
      events.value(this.firstOf(meaning) ?? 0);
    });
    this.questions.root.hidden = told.length < 2;
    this.dock = iconButton(
      'table',
      'Hot spots, comparison, sizes and SQL',
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
      this.questions.root,
      this.values,
      this.filter,
      element('div', { class: 'toolbar-gap' }),
      this.warnings,
      this.dock,
    );
  }

  /** `stretch` says in words which part of the run is shown, if any: none of the values is told of a part. */
  set(value: number, stretch: string | null): void {
    const shown = this.profile.values[value];
    if (stretch === null) this.ofStretch.remove();
    else {
      const unit = shown?.unit === 'count' ? 'allocations' : 'bytes';
      setText(this.ofStretch, `${stretch.charAt(0).toUpperCase()}${stretch.slice(1)}, in ${unit}`);
      this.values.prepend(this.ofStretch);
    }
    this.values.value = stretch === null ? String(value) : '';
    const asked = QUESTIONS.find((question) => question.value === shown?.meaning);
    this.questions.set(stretch === null ? (asked?.value ?? null) : null);
    this.questions.root.title =
      stretch === null
        ? 'What is asked'
        : `Shown is what was ${stretch}; these ask about the whole run again`;
  }

  /** Which value answers a question: bytes where there are some. */
  private firstOf(meaning: Meaning): number | undefined {
    const { values } = this.profile;
    const found = values.flatMap((value, number) => (value.meaning === meaning ? [number] : []));
    return found.find((number) => values[number]?.unit === 'bytes') ?? found[0];
  }

  update(value: number, stretch: string | null, dock: boolean, warningsHidden: number): void {
    this.set(value, stretch);
    press(this.dock, dock);
    this.warnings.hidden = warningsHidden === 0;
  }
}
