// Says, once, that a file on disk is not what is shown any more.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { FileState, ShownFile } from '../../../extension/shared/messages';
import type { Api } from '../api';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { Icon } from '../widgets/icon';
import { IconButton } from '../widgets/icon-button';

const LONGEST_NAME = 60;

export class FileBar {
  private readonly states = signal<Readonly<Record<ShownFile, FileState>>>({ own: 'same', other: 'same' });

  constructor(
    private readonly api: Pick<Api, 'post'>,
    /** The name of the file that it is compared with. */
    private readonly otherName: () => string,
  ) {}

  readonly View = (): VNode => {
    const states = this.states.value;
    return (
      <div class="file-bar" role="status" hidden={Object.values(states).every((each) => each === 'same')}>
        {(['own', 'other'] as const).map((of) => {
          const state = states[of];
          return state === 'same' ? null : (
            <Row
              key={of}
              of={of}
              state={state}
              name={of === 'own' ? null : this.otherName()}
              api={this.api}
            />
          );
        })}
      </div>
    );
  };

  show(of: ShownFile, state: FileState): void {
    this.states.value = { ...this.states.value, [of]: state };
  }
}

interface RowProps {
  readonly of: ShownFile;
  readonly state: Exclude<FileState, 'same'>;
  /** Null for the file that the view is of. */
  readonly name: string | null;
  readonly api: Pick<Api, 'post'>;
}

function Row({ of, state, name, api }: RowProps): VNode {
  return (
    <div class="file-row">
      <Icon name="warning" />
      <bdi class="file-text">{sentence(state, name)}</bdi>
      {state === 'changed' && (
        <button type="button" class="button" onClick={() => api.post({ type: 'reload', of })}>
          {t('Reload')}
        </button>
      )}
      <IconButton icon="close" label={t('Hide')} press={() => api.post({ type: 'dismissFile', of })} />
    </div>
  );
}

function sentence(state: RowProps['state'], name: string | null): string {
  const changed = state === 'changed';
  if (name === null)
    return changed
      ? t('The file has changed on disk. What is shown was read before.')
      : t('The file no longer exists. What was read from it is still shown.');
  const short = shorten(name, LONGEST_NAME);
  return changed
    ? t('{0}, the other file, has changed on disk. What is shown was read before.', short)
    : t('{0}, the other file, no longer exists. What was read from it is still shown.', short);
}
