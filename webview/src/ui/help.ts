// The list of keys.

import { FLAME_KEYS } from '../flame/keys';
import { KEYS, keyName } from '../input/keys';
import { element, iconButton } from './dom';

const MOUSE: readonly (readonly [string, string])[] = [
  ['Wheel', 'Zoom about the cursor; with Shift the height, with Ctrl or Cmd both'],
  ['Drag', 'Move; with Alt, zoom to a box'],
  ['Click', 'Select: its stack, and every allocation of that stack lit up; the cursor goes there'],
  ['Shift click or drag', 'Second cursor: what was allocated, freed or live in between'],
  ['Double-click', 'Zoom to an allocation'],
  ['Ctrl or Cmd click', 'Open the line that allocated it'],
];

export class Help {
  readonly root: HTMLDialogElement;

  constructor() {
    const mac = navigator.userAgent.includes('Mac');
    const groups = [...new Set(KEYS.map((row) => row.group))];
    this.root = element('dialog', { class: 'help', attributes: { 'aria-label': 'Keys' } });
    this.root.append(
      element(
        'header',
        {},
        element('h2', {}, 'Keys'),
        iconButton(
          'close',
          'Close',
          () => {
            this.root.close();
          },
          'Escape',
        ),
      ),
      element(
        'div',
        { class: 'help-groups' },
        ...groups.map((group) =>
          part(
            group,
            KEYS.filter((row) => row.group === group && row.text).map((row) => [
              row.keys
                .filter((key) => !['=', '_', 'Shift++', 'Shift+?'].includes(key))
                .map((key) => keyName(key, mac)),
              row.text,
            ]),
          ),
        ),
        part(
          'In the flame graph',
          FLAME_KEYS.map(({ keys, text }) => [
            keys.filter((key) => key !== '=').map((key) => keyName(key, mac)),
            text,
          ]),
        ),
        part(
          'Mouse',
          MOUSE.map(([name, text]) => [[name], text]),
        ),
      ),
    );
    this.root.addEventListener('click', (event) => {
      if (event.target === this.root) this.root.close();
    });
  }

  toggle(): void {
    if (this.root.open) this.root.close();
    else this.root.showModal();
  }
}

function part(title: string, rows: readonly (readonly [readonly string[], string])[]): HTMLElement {
  return element(
    'section',
    {},
    element('h3', {}, title),
    element(
      'dl',
      {},
      ...rows.flatMap(([keys, text]) => [
        element('dt', {}, ...keys.map((key) => element('kbd', {}, key))),
        element('dd', {}, text),
      ]),
    ),
  );
}
