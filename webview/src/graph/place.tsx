// The button that opens a line of source, wherever a heap dump's view names one.

import type { VNode } from 'preact';
import { t } from '../base/l10n';
import { fileName } from '../base/paths';
import { shorten, visible } from '../base/text';
import type { Session } from '../shell/session';

export function PlaceButton({
  file,
  line,
  context,
}: {
  readonly file: string;
  readonly line: number;
  readonly context: Pick<Session, 'openFrame'>;
}): VNode {
  return (
    <button
      type="button"
      class="link place"
      title={t('Open {0}', visible(`${file}:${line}`))}
      onClick={(event) => context.openFrame({ file, line }, event.ctrlKey || event.metaKey)}
    >
      <bdi dir="ltr">{visible(`${shorten(fileName(file), 60)}:${line}`)}</bdi>
    </button>
  );
}
