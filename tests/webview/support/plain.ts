// A name as the server sends those of a file: the same in every language.

import type { Text } from '../../../extension/shared/protocol.gen';

export function plain(text: string): Text {
  return { text, template: '', values: {} };
}
