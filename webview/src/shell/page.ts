// What the page does with any view, whatever it shows.

import type { ViewCommand } from '../../../extension/shared/commands';
import type { ViewState } from '../../../extension/shared/messages';
import type { Api, HostMessage } from '../api';
import type { CommandOf } from './command';
import { savePicture, type AskedSvg } from './export';

/** What every view can do. */
export interface ShownView {
  receive(message: HostMessage): void;
  /** Shows a state of before, or of a link. */
  goTo(state: ViewState): void;
  /** Asks for its picture as SVG; null where it has none. */
  picture(): AskedSvg | null;
  /** The commands that do something now. */
  readonly commands: readonly ViewCommand[];
  /** The device that a report is about; null for a model without. */
  readonly reported: number | null;
  failed(error: unknown): void;
  /** Saves its state now. */
  save(): void;
  dispose(): void;
}

/** What of the page its commands act on. */
export interface Page {
  readonly api: Api;
  readonly view: ShownView;
  /** Takes a report of it along. */
  report(form: 'html' | 'markdown'): void;
}

/** Of going back and forward the host knows whether it can be done; it goes by the state that is saved first. */
export const EVERYWHERE: readonly CommandOf<Page>[] = [
  { action: 'back', palette: 'Go Back', when: () => false, run: (page) => goBy(page, -1) },
  { action: 'forward', palette: 'Go Forward', when: () => false, run: (page) => goBy(page, 1) },
  {
    action: 'copyLink',
    palette: 'Copy Link',
    list: 'share',
    run: ({ api, view }) => {
      view.save();
      api.post({ type: 'copyLink' });
    },
  },
  {
    action: 'copyReport',
    palette: 'Copy Report as Markdown',
    list: 'share',
    run: (page) => page.report('markdown'),
  },
  { action: 'exportReport', palette: 'Export Report…', list: 'share', run: (page) => page.report('html') },
  {
    action: 'exportSvg',
    palette: 'Export Picture as SVG…',
    list: 'share',
    run: (page) => exportPicture(page, 'svg'),
  },
  {
    action: 'exportPng',
    palette: 'Export Picture as PNG…',
    list: 'share',
    run: (page) => exportPicture(page, 'png'),
  },
];

function goBy({ api, view }: Page, by: -1 | 1): void {
  view.save();
  api.post({ type: 'history', by });
}

function exportPicture({ api, view }: Page, form: 'svg' | 'png'): void {
  const asked = view.picture();
  if (asked) savePicture(api, form, asked).catch((error: unknown) => view.failed(error));
}
