// What a heap dump opens with: its figures, and where to ask for more.

import type { GraphInfo } from '../../../extension/shared/protocol.gen';
import { element } from '../ui/dom';
import { counted, exactBytes } from '../ui/format';
import { visible } from '../ui/text';

/** The figures of a heap dump, and its notices. */
export function graphScreen(info: GraphInfo): HTMLElement {
  const figures = [
    `${counted(info.objects, 'object')} of ${counted(info.types, 'type')}`,
    `${counted(info.references, 'reference')} between them, and ${counted(info.roots, 'root')}`,
    `Shallow size of all objects: ${exactBytes(info.shallow_bytes)}`,
    `Reachable from roots: ${exactBytes(info.reachable_bytes)} in ${counted(info.reachable_objects, 'object')}`,
    ...info.warnings.map(({ message }) => message),
  ];
  return element(
    'main',
    { class: 'screen' },
    element(
      'div',
      { class: 'screen-box' },
      element('h1', {}, 'Heap graph'),
      ...figures.map((text) => element('p', {}, element('bdi', {}, visible(text)))),
      element(
        'p',
        {},
        'The command line answers questions about it: memlens types, object, paths and sql, with this file.',
      ),
    ),
  );
}
