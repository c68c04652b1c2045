// The row of controls above the picture.

import type { ViewState } from '../../../extension/shared/messages';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Action } from '../input/keys';
import { add, element, iconButton, replace } from './dom';
import { bytes } from './format';

export interface ToolbarState {
  readonly device: number;
  readonly axis: ViewState['axis'];
  readonly colour: ViewState['colour'];
  readonly hasTimes: boolean;
  readonly table: boolean;
  readonly panel: boolean;
  readonly boxTool: boolean;
  readonly warningsHidden: number;
}

export class Toolbar {
  readonly root = element('div', {
    class: 'toolbar',
    role: 'toolbar',
    attributes: { 'aria-label': 'Memory timeline' },
  });
  private readonly device: HTMLSelectElement;
  private readonly axis: Choice<ViewState['axis']>;
  private readonly colour: Choice<ViewState['colour']>;
  private readonly table: HTMLButtonElement;
  private readonly panel: HTMLButtonElement;
  private readonly box: HTMLButtonElement;
  private readonly warnings: HTMLButtonElement;

  constructor(
    devices: readonly DeviceInfo[],
    hasCategories: boolean,
    run: (action: Action) => void,
    pickDevice: (device: number) => void,
    showWarnings: () => void,
  ) {
    this.device = element('select', {
      class: 'dropdown',
      title: 'Device (d)',
      attributes: { 'aria-label': 'Device' },
      on: {
        change: () => {
          pickDevice(Number(this.device.value));
        },
      },
    });
    for (const each of devices) {
      const text = `Device ${each.device} · peak ${bytes(each.peak_bytes)}${each.ooms > 0 ? ' · out of memory' : ''}`;
      add(this.device, element('option', { attributes: { value: each.device } }, text));
    }
    this.device.hidden = devices.length < 2;
    this.axis = new Choice(
      'Horizontal axis (a)',
      [
        { value: 'time', text: 'Time' },
        { value: 'event', text: 'Events' },
      ],
      () => {
        run('toggleAxis');
      },
    );
    this.colour = new Choice(
      'Colours (c)',
      [
        { value: 'stack', text: 'By stack' },
        { value: 'category', text: 'By category' },
      ],
      () => {
        run('toggleColour');
      },
    );
    this.colour.root.hidden = !hasCategories;
    this.box = iconButton(
      'box',
      'Zoom to a box',
      () => {
        run('boxTool');
      },
      'b',
    );
    this.table = iconButton(
      'table',
      'Table of live allocations',
      () => {
        run('toggleTable');
      },
      't',
    );
    this.panel = iconButton(
      'panel',
      'Stack panel',
      () => {
        run('togglePanel');
      },
      's',
    );
    this.warnings = iconButton('warning', 'What this file could not tell', showWarnings);
    this.warnings.classList.add('has-warnings');
    replace(
      this.root,
      this.device,
      this.axis.root,
      this.colour.root,
      element('div', { class: 'toolbar-gap' }),
      this.warnings,
      iconButton(
        'minus',
        'Zoom out',
        () => {
          run('zoomOut');
        },
        '-',
      ),
      iconButton(
        'plus',
        'Zoom in',
        () => {
          run('zoomIn');
        },
        '+',
      ),
      this.box,
      iconButton(
        'fit',
        'Show everything',
        () => {
          run('fit');
        },
        '0',
      ),
      iconButton(
        'peak',
        'Go to the peak',
        () => {
          run('peak');
        },
        'p',
      ),
      element('div', { class: 'toolbar-line' }),
      this.table,
      this.panel,
      iconButton(
        'help',
        'Keys',
        () => {
          run('help');
        },
        '?',
      ),
    );
  }

  update(state: ToolbarState): void {
    this.device.value = String(state.device);
    this.axis.root.hidden = !state.hasTimes;
    this.axis.set(state.axis);
    this.colour.set(state.colour);
    this.warnings.hidden = state.warningsHidden === 0;
    press(this.table, state.table);
    press(this.panel, state.panel);
    press(this.box, state.boxTool);
  }
}

/** Two states side by side; pressing the other one switches. */
class Choice<T extends string> {
  readonly root: HTMLElement;
  private readonly buttons: readonly { value: T; button: HTMLButtonElement }[];
  private value: T | null = null;

  constructor(label: string, options: readonly { value: T; text: string }[], change: () => void) {
    this.buttons = options.map(({ value, text }) => ({
      value,
      button: element(
        'button',
        {
          type: 'button',
          on: {
            click: () => {
              if (this.value !== value) change();
            },
          },
        },
        text,
      ),
    }));
    this.root = element(
      'div',
      { class: 'choice', role: 'group', title: label, attributes: { 'aria-label': label } },
      ...this.buttons.map(({ button }) => button),
    );
  }

  set(value: T): void {
    this.value = value;
    for (const each of this.buttons) press(each.button, each.value === value);
  }
}

function press(button: HTMLButtonElement, pressed: boolean): void {
  button.setAttribute('aria-pressed', String(pressed));
}
