// The flame graph's row of controls: its form and the search; the rest is in the settings.

import type { Attribution } from '../shell/attribution';
import { settingsButton } from '../shell/settings';
import { Choice, press } from '../widgets/choice';
import { add, debounce, element, iconButton, replace, setText } from '../widgets/dom';
import type { FlameSettings, Form } from './settings';
import { nameText } from './words';

export interface FlameToolbarEvents {
  changed(part: Partial<FlameSettings>): void;
  /** To the next (1) or the previous (-1) match. */
  goToMatch(by: 1 | -1): void;
  /** Out of the search box, into the picture. */
  leave(): void;
}

const SEARCH_AFTER_MS = 150;

export class FlameToolbar {
  readonly root: HTMLElement;
  private readonly form: HTMLSelectElement;
  private readonly direction: Choice<FlameSettings['direction']>;
  private readonly merge: HTMLSelectElement;
  private readonly value: HTMLSelectElement;
  private readonly order: HTMLSelectElement;
  private readonly colour: HTMLSelectElement;
  private readonly collapse: HTMLButtonElement;
  private readonly fold: HTMLButtonElement;
  private readonly wholePaths: HTMLButtonElement;
  private readonly search: HTMLInputElement;
  private readonly searching: HTMLElement;
  /** The way from one match to the next, while there is a search. */
  private readonly matches: HTMLElement;
  private readonly found = element('span', { class: 'flame-found muted', role: 'status' });
  private readonly settings: HTMLElement;
  private readonly chips = element('span', { class: 'flame-chips' });

  constructor(
    private readonly events: FlameToolbarEvents,
    compared: boolean,
    /** To which box a stack is charged. */
    private readonly attribution: Choice<Attribution>,
  ) {
    this.form = select<Form>(
      'Form',
      [
        ['icicle', 'Icicle'],
        ['flame', 'Flame'],
        ['table', 'Tree'],
        // those of a comparison are in its table
        ...(compared ? [] : [['functions', 'Functions'] as const]),
      ],
      (form) => {
        events.changed({ form });
      },
    );
    this.direction = new Choice<FlameSettings['direction']>(
      'Direction',
      [
        {
          value: 'top_down',
          text: 'Top-down',
          title: 'From the outermost caller to where memory is allocated',
        },
        { value: 'bottom_up', text: 'Bottom-up', title: 'From where memory is allocated to its callers' },
      ],
      (direction) => {
        events.changed({ direction });
      },
    );
    this.merge = select(
      'Merge by',
      [
        ['function', 'Function'],
        ['line', 'Line'],
      ],
      (merge) => {
        events.changed({ merge });
      },
    );
    this.value = select(
      'Width',
      [
        ['bytes', 'Bytes'],
        ['count', 'Allocations'],
        ['total', 'Bytes, whole run'],
      ],
      (value) => {
        events.changed({ value });
      },
    );
    this.order = select(
      'Order',
      [
        ['value', 'Largest first'],
        ['time', 'Oldest first'],
      ],
      (order) => {
        events.changed({ order });
      },
    );
    this.colour = select(
      'Colours',
      [
        ['package', 'Package'],
        ['value', 'Value'],
      ],
      (colour) => {
        events.changed({ colour });
      },
    );
    this.collapse = toggle(
      'Collapse libraries',
      'Frames of a library that follow each other are one box',
      (collapse) => {
        events.changed({ collapse });
      },
    );
    this.fold = toggle('Fold recursion', 'A function that calls itself is one box', (fold) => {
      events.changed({ fold });
    });
    this.wholePaths = toggle(
      'Whole paths',
      'Files by their whole path, not by the shortest end that distinguishes them',
      (wholePaths) => {
        events.changed({ wholePaths });
      },
    );
    const soon = debounce(SEARCH_AFTER_MS, () => {
      events.changed({ search: this.search.value.trim() });
    });
    this.search = element('input', {
      class: 'flame-search',
      type: 'search',
      attributes: {
        placeholder: 'Search function or file',
        'aria-label': 'Search the flame graph',
        maxlength: 200,
      },
      on: {
        input: soon,
        keydown: (event) => {
          event.stopPropagation();
          if (event.key === 'Enter') {
            event.preventDefault();
            events.goToMatch(event.shiftKey ? -1 : 1);
          } else if (event.key === 'Escape') {
            event.preventDefault();
            if (this.search.value === '') events.leave();
            this.search.value = '';
            soon();
          }
        },
      },
    });
    this.matches = element(
      'span',
      { class: 'flame-matches', hidden: true },
      iconButton('up', 'Previous match', () => {
        events.goToMatch(-1);
      }),
      iconButton('down', 'Next match', () => {
        events.goToMatch(1);
      }),
      this.found,
    );
    this.searching = element('span', { class: 'flame-searching' }, this.search, this.matches);
    this.settings = settingsButton('Flame graph settings', [
      { text: 'Direction', control: this.direction.root },
      { text: 'Merge by', control: this.merge },
      { text: 'Width', control: this.value },
      { text: 'Order', control: this.order },
      { text: 'Colours', control: this.colour },
      { text: 'Libraries', control: this.collapse },
      { text: 'Recursion', control: this.fold },
      { text: 'Files', control: this.wholePaths },
      { text: 'Charged to', control: this.attribution.root },
    ]);
    this.root = element(
      'div',
      { class: 'flame-toolbar', role: 'toolbar', attributes: { 'aria-label': 'Flame graph' } },
      this.form,
      this.searching,
      this.chips,
      this.settings,
    );
  }

  /** What whoever shows the graph decides instead. */
  without(...controls: readonly ('value' | 'order')[]): void {
    for (const control of controls) this[control].hidden = true;
  }

  /** `sided`: boxes have two sides, and are coloured by what became of them. */
  update(settings: FlameSettings, sided: boolean): void {
    this.form.value = settings.form;
    this.direction.set(settings.direction);
    // each half of the functions' form has its own direction, and no widths to order or to search
    const drawn = settings.form === 'icicle' || settings.form === 'flame';
    this.direction.root.hidden = settings.form === 'functions';
    this.searching.hidden = !drawn;
    // tables say what boxes have of their own; the details of a box that is drawn say by which rule
    this.attribution.root.hidden = drawn;
    this.colour.hidden = !drawn || sided;
    this.matches.hidden = settings.search === '';
    if (document.activeElement !== this.search) this.search.value = settings.search;
    this.merge.value = settings.merge;
    this.value.value = settings.value;
    this.order.value = settings.order;
    this.colour.value = settings.colour;
    press(this.collapse, settings.collapse);
    press(this.fold, settings.fold);
    press(this.wholePaths, settings.wholePaths);
    const { focus, hidden, packages } = settings;
    replace(
      this.chips,
      focus && this.chip(`Only ${nameText(focus)}`, { focus: null }),
      ...hidden.map((name) =>
        this.chip(`Without ${nameText(name)}`, { hidden: hidden.filter((other) => other !== name) }),
      ),
      ...packages.map((name) =>
        this.chip(`${name} collapsed`, { packages: packages.filter((other) => other !== name) }),
      ),
    );
  }

  setFound(text: string): void {
    setText(this.found, text);
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  private chip(text: string, undo: Partial<FlameSettings>): HTMLElement {
    return element(
      'button',
      {
        class: 'chip',
        type: 'button',
        title: 'Take this back',
        on: {
          click: () => {
            this.events.changed(undo);
          },
        },
      },
      element('bdi', {}, text.length > 42 ? `${text.slice(0, 40)}…` : text),
      ' ×',
    );
  }
}

function select<T extends string>(
  label: string,
  options: readonly (readonly [T, string])[],
  change: (value: T) => void,
): HTMLSelectElement {
  const made = element('select', {
    class: 'dropdown',
    title: label,
    attributes: { 'aria-label': label },
    on: {
      change: () => {
        const found = options.find(([value]) => value === made.value);
        if (found) change(found[0]);
      },
    },
  });
  for (const [value, text] of options) add(made, element('option', { attributes: { value } }, text));
  return made;
}

function toggle(text: string, title: string, change: (on: boolean) => void): HTMLButtonElement {
  const made = element(
    'button',
    {
      class: 'toggle',
      type: 'button',
      title,
      on: {
        click: () => {
          change(made.getAttribute('aria-pressed') !== 'true');
        },
      },
    },
    text,
  );
  return made;
}
