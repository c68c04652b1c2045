// Where the view's parts stand, and the sizes that the user gave them.

import type { Layout } from '../scene/state';
import { add, element, replace } from './dom';
import { splitter } from './splitter';

export interface Parts {
  readonly toolbar: HTMLElement;
  readonly warnings: HTMLElement;
  readonly minimap: HTMLElement;
  readonly plot: HTMLElement;
  readonly table: HTMLElement;
  readonly panel: HTMLElement;
  readonly tooltip: HTMLElement;
  readonly help: HTMLElement;
}

const LEAST_PANEL = 220;
const LEAST_TABLE = 120;
const LEAST_PLOT = 160;

export class ViewFrame {
  /** Below the picture: the categories' legend, figures, and a note of the moment. */
  readonly legend = element('div', { class: 'legend-slot' });
  readonly status = element('div', { class: 'status-text' });
  readonly note = element('div', { class: 'status-note' });
  readonly coarser = element(
    'div',
    { class: 'status-coarser', hidden: true, title: 'This part has more than the screen can show' },
    'Simplified here: zoom in for every allocation',
  );
  /** Read out by screen readers. */
  readonly live = element('div', { class: 'sr-only', role: 'status', attributes: { 'aria-live': 'polite' } });
  readonly busy = element('div', { class: 'busy', hidden: true });
  private readonly root: HTMLElement;
  private readonly side: HTMLElement;
  private readonly bottom: HTMLElement;

  constructor(
    host: HTMLElement,
    private readonly parts: Parts,
    private layout: Layout,
    private readonly changed: (layout: Layout) => void,
  ) {
    this.side = splitter(
      'Width of the stack panel',
      'vertical',
      () => this.layout.panelWidth,
      (panelWidth) => {
        this.set({ panelWidth });
      },
    );
    this.bottom = splitter(
      'Height of the table',
      'horizontal',
      () => this.layout.tableHeight,
      (tableHeight) => {
        this.set({ tableHeight });
      },
    );
    const middle = element(
      'div',
      { class: 'middle' },
      parts.minimap,
      element('div', { class: 'plot-area' }, this.busy, parts.plot),
      this.bottom,
      parts.table,
    );
    this.root = element(
      'div',
      { class: 'view' },
      parts.toolbar,
      parts.warnings,
      element('div', { class: 'columns' }, middle, this.side, parts.panel),
      element('footer', { class: 'status' }, this.status, this.note, this.coarser, this.legend),
      this.live,
    );
    replace(host, this.root);
    add(this.root, parts.tooltip, parts.help);
  }

  get current(): Layout {
    return this.layout;
  }

  set(change: Partial<Layout>): void {
    const panelMost = Math.max(this.root.clientWidth - LEAST_PLOT, LEAST_PANEL);
    const tableMost = Math.max(this.root.clientHeight - LEAST_PLOT - 140, LEAST_TABLE);
    const next = { ...this.layout, ...change };
    this.layout = {
      ...next,
      panelWidth: Math.round(Math.min(Math.max(next.panelWidth, LEAST_PANEL), panelMost)),
      tableHeight: Math.round(Math.min(Math.max(next.tableHeight, LEAST_TABLE), tableMost)),
    };
    this.changed(this.layout);
  }

  apply(tableOpen: boolean, hasWarnings: boolean): void {
    const { panelOpen, panelWidth, tableHeight, warningsOpen } = this.layout;
    this.parts.panel.hidden = !panelOpen;
    this.side.hidden = !panelOpen;
    this.parts.panel.style.setProperty('--panel-width', `${panelWidth}px`);
    this.parts.table.hidden = !tableOpen;
    this.bottom.hidden = !tableOpen;
    this.parts.table.style.height = `${tableHeight}px`;
    this.parts.warnings.hidden = !hasWarnings || !warningsOpen;
  }
}
