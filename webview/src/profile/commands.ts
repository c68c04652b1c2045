// The commands and keys of a profile's view, in the order in which `?` lists them.

import { t } from '../base/l10n';
import type { CommandOf } from '../shell/command';
import { FILTER, HELP, TOGGLE_PANE, type CommandedView } from '../shell/commands';
import type { ProfileSession } from './session';

type Row = CommandOf<CommandedView<ProfileSession>, ProfileSession>;

export const PROFILE_COMMANDS: readonly Row[] = [
  {
    action: 'nextValue',
    keys: ['v'],
    text: t('Next value'),
    run: ({ session }) => session.showValue((session.number.value + 1) % session.info.values.length),
  },
  FILTER,
  TOGGLE_PANE,
  HELP,
];
