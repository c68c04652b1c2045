// Says, once, that a file on disk is not what is shown any more.

import { t } from '../base/l10n';
import type { FileState, ShownFile } from '../../../extension/shared/messages';
import type { Api } from '../api';
import { element, icon, iconButton, replace } from '../widgets/dom';
import { shorten } from '../base/text';

const LONGEST_NAME = 60;

export class FileBar {
  readonly root = element('div', { class: 'file-bar', role: 'status', hidden: true });
  private readonly states: Record<ShownFile, FileState> = { own: 'same', other: 'same' };

  constructor(
    private readonly api: Pick<Api, 'post'>,
    /** The name of the file that it is compared with. */
    private readonly otherName: () => string,
  ) {}

  show(of: ShownFile, state: FileState): void {
    if (this.states[of] === state) return;
    this.states[of] = state;
    const rows = (['own', 'other'] as const).filter((file) => this.states[file] !== 'same');
    this.root.hidden = rows.length === 0;
    replace(this.root, ...rows.map((file) => this.row(file)));
  }

  private row(of: ShownFile): HTMLElement {
    const changed = this.states[of] === 'changed';
    return element(
      'div',
      { class: 'file-row' },
      icon('warning'),
      element('bdi', { class: 'file-text' }, this.sentence(of)),
      changed &&
        element(
          'button',
          {
            class: 'button',
            type: 'button',
            on: {
              click: () => {
                this.api.post({ type: 'reload', of });
              },
            },
          },
          t('Reload'),
        ),
      iconButton('close', t('Hide'), () => {
        this.api.post({ type: 'dismissFile', of });
      }),
    );
  }

  private sentence(of: ShownFile): string {
    const changed = this.states[of] === 'changed';
    if (of === 'own')
      return changed
        ? t('The file has changed on disk. What is shown was read before.')
        : t('The file is not there any more. What was read of it is still shown.');
    const name = shorten(this.otherName(), LONGEST_NAME);
    return changed
      ? t('{0}, compared with, has changed on disk. What is shown was read before.', name)
      : t('{0}, compared with, is not there any more. What was read of it is still shown.', name);
  }
}
