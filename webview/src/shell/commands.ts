// The commands and keys of more than one model.

import { t } from '../base/l10n';
import type { CommandOf } from './command';
import type { Session } from './session';
import type { ModelView } from './view';

/** What of a view commands act on. */
export type CommandedView<S extends Session = Session> = Pick<ModelView<S>, 'session' | 'dock' | 'around'>;

type Shared = CommandOf<CommandedView, Session>;

export const TOGGLE_PANE: Shared = {
  action: 'togglePane',
  palette: 'Toggle Panel',
  keys: ['t'],
  text: t('Panel'),
  run: ({ dock }) => dock.toggle(),
};

export const TOGGLE_TALL: Shared = {
  action: 'toggleTall',
  keys: ['Shift+t'],
  text: t('Maximize the panel'),
  run: ({ dock }) => dock.toggleTall(),
};

/** Its key is another one in each model. */
export const TOGGLE_PANEL: Shared = {
  action: 'togglePanel',
  text: t('Details'),
  run: ({ session }) => session.arrange({ panelOpen: !session.layout.value.panelOpen }),
};

export const FILTER: Shared = {
  action: 'filter',
  keys: ['/'],
  text: t('Filter everything'),
  run: ({ around }) => around.filterBox.focus(),
};

export const HELP: Shared = {
  action: 'help',
  keys: ['?', 'Shift+?'],
  text: t('This list'),
  run: ({ around }) => around.help.toggle(),
};

/** Of the first nine panes, by the places of their tabs. */
export const NUMBERED: readonly Shared[] = Array.from({ length: 9 }, (_, at) => ({
  action: `pane${at + 1}`,
  keys: [String(at + 1)],
  text: at === 0 ? t('The first pane (2 for the second, and so on)') : '',
  run: ({ dock }) => dock.showPane(at),
}));
