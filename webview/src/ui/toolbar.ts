// The row of controls above the picture.

import { AREA_KINDS, type PictureId, type ViewState } from '../../../extension/shared/messages';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Action } from '../input/keys';
import { Choice, press } from './choice';
import { add, element, iconButton, replace } from './dom';
import { bytes } from './format';

export interface ToolbarState {
  readonly device: number;
  readonly axis: ViewState['axis'];
  readonly colour: ViewState['colour'];
  readonly areas: ViewState['areas'];
  readonly hasTimes: boolean;
  readonly picture: PictureId;
  readonly dock: boolean;
  readonly panel: boolean;
  readonly boxTool: boolean;
  readonly warningsHidden: number;
}

const GROUPINGS: readonly { kind: ViewState['areas']; text: string; action: Action }[] = [
  ...AREA_KINDS.map((kind) => ({ kind, text: `By ${kind}`, action: `group.${kind}` as const })),
  { kind: null, text: 'PyTorch order', action: 'group.none' },
];

export class Toolbar {
  readonly root = element('div', {
    class: 'toolbar',
    role: 'toolbar',
    attributes: { 'aria-label': 'Memory timeline' },
  });
  private readonly device: HTMLSelectElement;
  /** For the filter. */
  readonly filter = element('div', { class: 'filter-slot' });
  private readonly pictureSlot = element('div', { hidden: true });
  private picture: Choice<PictureId> | null = null;
  private readonly axis: Choice<ViewState['axis']>;
  private readonly colour: Choice<ViewState['colour']>;
  private readonly areas: HTMLSelectElement;
  private readonly dock: HTMLButtonElement;
  private readonly panel: HTMLButtonElement;
  private readonly box: HTMLButtonElement;
  private readonly warnings: HTMLButtonElement;

  constructor(
    devices: readonly DeviceInfo[],
    private readonly hasCategories: boolean,
    private readonly run: (action: Action) => void,
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
      const text = `${each.name} · peak ${bytes(each.peak_bytes)}${each.ooms > 0 ? ' · out of memory' : ''}`;
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
    this.areas = element('select', {
      class: 'dropdown',
      title: 'Group by (g)',
      attributes: { 'aria-label': 'Group by' },
      on: {
        change: () => {
          run(GROUPINGS.find(({ kind }) => String(kind) === this.areas.value)?.action ?? 'group.line');
        },
      },
    });
    for (const { kind, text } of GROUPINGS) {
      if (kind === 'category' && !hasCategories) continue;
      add(this.areas, element('option', { attributes: { value: String(kind) } }, text));
    }
    this.box = iconButton(
      'box',
      'Zoom to a box',
      () => {
        run('boxTool');
      },
      'b',
    );
    this.dock = iconButton(
      'table',
      'Views below the picture',
      () => {
        run('togglePane');
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
      this.pictureSlot,
      this.axis.root,
      this.areas,
      this.colour.root,
      this.filter,
      element('div', { class: 'toolbar-gap' }),
      this.warnings,
      this.buttons(run),
    );
  }

  /** In one line, so that the line between them never stands at the start of one. */
  private buttons(run: (action: Action) => void): HTMLElement {
    return element(
      'div',
      { class: 'toolbar-group' },
      element(
        'div',
        { class: 'toolbar-group' },
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
      ),
      element(
        'div',
        { class: 'toolbar-group lined' },
        this.dock,
        this.panel,
        iconButton(
          'help',
          'Keys',
          () => {
            run('help');
          },
          '?',
        ),
      ),
    );
  }

  /** The pictures to choose from. */
  offer(pictures: readonly { readonly value: PictureId; readonly text: string }[]): void {
    this.picture = new Choice('What the picture shows', pictures, (id) => {
      this.run(`picture.${id}`);
    });
    replace(this.pictureSlot, this.picture.root);
    this.pictureSlot.hidden = pictures.length < 2;
  }

  update(state: ToolbarState): void {
    this.device.value = String(state.device);
    this.axis.root.hidden = !state.hasTimes;
    this.axis.set(state.axis);
    this.colour.set(state.colour);
    this.colour.root.hidden = !this.hasCategories || state.areas !== null;
    this.areas.value = String(state.areas);
    this.warnings.hidden = state.warningsHidden === 0;
    press(this.dock, state.dock);
    this.picture?.set(state.picture);
    press(this.panel, state.panel);
    press(this.box, state.boxTool);
  }
}
