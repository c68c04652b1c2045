// An object that is named somewhere, as the button that shows it, and its line.

import type { VNode } from 'preact';
import type { ObjectRow } from '../../../extension/shared/protocol.gen';
import type { GraphSession } from './session';
import { PlaceButton } from './place';
import { objectText, objectTitle } from './words';

export function ObjectButton({
  row,
  context,
}: {
  readonly row: ObjectRow;
  readonly context: GraphSession;
}): VNode {
  const { file, line } = row;
  return (
    <>
      <button
        type="button"
        class="link code"
        title={objectTitle(row)}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey) context.openSource({ is: 'object', object: row.object }, false);
          else context.select({ is: 'object', object: row.object });
        }}
      >
        <bdi>{objectText(row)}</bdi>
      </button>
      {file !== null && line !== null && <PlaceButton file={file} line={line} context={context} />}
    </>
  );
}
