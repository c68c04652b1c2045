// What the server says, in the user's language.

import type { VNode } from 'preact';
import type { Text } from '../../../extension/shared/protocol.gen';
import { pieces } from '../base/l10n';
import { visible } from '../base/text';

/** A sentence; names and amounts within it are kept apart, whatever their script. */
export function Said({ text: { text, template, values } }: { readonly text: Text }): VNode {
  if (template === '') return <bdi>{visible(text)}</bdi>;
  return (
    <>
      {pieces(template, values, (value) => (
        <Said text={value} />
      ))}
    </>
  );
}
