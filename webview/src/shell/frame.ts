// Where the view's parts stand, and the sizes that the user gave them.

import { t } from '../base/l10n';
import type { Layout } from './state';
import { RequestError } from '../api';
import { isCancelled } from '../base/latest';
import { messageOf } from '../base/text';
import { add, element, replace, setText } from '../widgets/dom';
import { splitter } from '../widgets/splitter';

export interface Parts {
  /** The summary and the toolbar. */
  readonly head: HTMLElement;
  readonly minimap: HTMLElement;
  /** One of them is shown. */
  readonly pictures: readonly HTMLElement[];
  readonly dock: HTMLElement;
  readonly panel: HTMLElement;
  readonly tooltip: HTMLElement;
  readonly help: HTMLElement;
}

const LEAST_PANEL = 220;
const LEAST_DOCK = 120;
const LEAST_PLOT = 160;

export class ViewFrame {
  /** Below the picture: the categories' legend, figures, and a note of the moment. */
  readonly legend = element('div', { class: 'legend-slot' });
  readonly status = element('div', { class: 'status-text' });
  readonly note = element('div', { class: 'status-note' });
  readonly coarser = element(
    'div',
    { class: 'status-coarser', hidden: true, title: t('This part has more than the screen can show') },
    t('Small allocations merged'),
  );
  /** Read out by screen readers. */
  readonly live = element('div', { class: 'sr-only', role: 'status', attributes: { 'aria-live': 'polite' } });
  readonly busy = element('div', { class: 'busy', hidden: true });
  /** What became of the file on disk. */
  readonly files = element('div', { class: 'files-slot' });
  /** Above every picture, over the same part of the run. */
  readonly lanes = element('div', { class: 'lanes-slot' });
  /** Below the picture that it belongs to. */
  readonly areas = element('div', { class: 'areas-slot' });
  private readonly root: HTMLElement;
  private readonly picture: HTMLElement;
  private readonly columns: HTMLElement;
  private readonly side: HTMLElement;
  private readonly bottom: HTMLElement;

  constructor(
    host: HTMLElement,
    private readonly parts: Parts,
    private layout: Layout,
    private readonly changed: (layout: Layout) => void,
    private readonly showLog: () => void,
  ) {
    this.side = splitter(
      t('Width of the details'),
      'vertical',
      () => this.layout.panelWidth,
      (panelWidth) => {
        this.set({ panelWidth });
      },
    );
    this.bottom = splitter(
      t('Height of the panel'),
      'horizontal',
      () => this.layout.dockHeight,
      (dockHeight) => {
        this.set({ dockHeight });
      },
    );
    this.picture = element(
      'div',
      { class: 'picture' },
      parts.minimap,
      this.lanes,
      element('div', { class: 'plot-area' }, this.busy, ...parts.pictures),
      this.areas,
    );
    const middle = element('div', { class: 'middle' }, this.picture, this.bottom, parts.dock);
    this.columns = element('div', { class: 'columns' }, middle, this.side, parts.panel);
    this.root = element(
      'div',
      { class: 'view' },
      parts.head,
      this.files,
      this.columns,
      element('footer', { class: 'status' }, this.status, this.note, this.coarser, this.legend),
      this.live,
    );
    replace(host, this.root);
    add(this.root, parts.tooltip, parts.help);
  }

  /** A note of the moment, which screen readers read out. */
  say(text: string): void {
    setText(this.live, text);
    setText(this.note, text);
    this.note.title = '';
    this.note.classList.remove('error');
  }

  /** What went wrong, as such a note; what was cancelled went as it should. */
  failed(error: unknown): void {
    if (isCancelled(error)) return;
    this.say(messageOf(error));
    this.note.classList.add('error');
    if (error instanceof RequestError && error.problem.code === 'internal') {
      setText(this.live, `${error.problem.message}. ${error.problem.advice}`);
      this.note.title = error.problem.advice;
      add(
        this.note,
        element('button', { class: 'link', type: 'button', on: { click: this.showLog } }, t('Show Log')),
      );
    }
  }

  /** Whether the details stand below all else, as in a narrow window. */
  get isStacked(): boolean {
    return getComputedStyle(this.columns).flexDirection === 'column';
  }

  get current(): Layout {
    return this.layout;
  }

  set(change: Partial<Layout>): void {
    const panelMost = Math.max(this.root.clientWidth - LEAST_PLOT, LEAST_PANEL);
    const dockMost = Math.max(this.root.clientHeight - LEAST_PLOT - 140, LEAST_DOCK);
    const next = { ...this.layout, ...change };
    this.layout = {
      ...next,
      panelWidth: Math.round(Math.min(Math.max(next.panelWidth, LEAST_PANEL), panelMost)),
      dockHeight: Math.round(Math.min(Math.max(next.dockHeight, LEAST_DOCK), dockMost)),
    };
    this.changed(this.layout);
  }

  apply(dockOpen: boolean): void {
    const { panelOpen, panelWidth, dockHeight, dockTall } = this.layout;
    const tall = dockOpen && dockTall;
    this.side.setAttribute('aria-valuenow', String(panelWidth));
    this.bottom.setAttribute('aria-valuenow', String(dockHeight));
    this.parts.panel.hidden = !panelOpen;
    this.side.hidden = !panelOpen;
    this.parts.panel.style.setProperty('--panel-width', `${panelWidth}px`);
    this.parts.dock.hidden = !dockOpen;
    this.parts.dock.classList.toggle('tall', tall);
    this.bottom.hidden = !dockOpen || tall;
    this.picture.hidden = tall;
    this.parts.dock.style.height = tall ? '' : `${dockHeight}px`;
  }
}
