// What holds the explained objects independently: the references that must go together so that they are freed.

import type { ReadonlySignal } from '@preact/signals';
import type { VNode } from 'preact';
import type { LeastCutAnswer } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { shorten, visible } from '../base/text';
import type { GraphSession } from './session';
import { ObjectButton } from './object-button';
import { bytesAndNative, objectText } from './words';

/** Shown where more than one reference holds the objects, so that cutting one of them frees nothing. */
export function LeastCut(props: {
  readonly found: ReadonlySignal<LeastCutAnswer | null>;
  readonly context: GraphSession;
}): VNode | null {
  const found = props.found.value;
  if (found === null || found.references.length < 2) return null;
  const { references, holder, freed_bytes: freed, freed_native_bytes: native } = found;
  return (
    <section class="heap-least-cut" aria-label={t('Held independently')}>
      <p class="heap-note">
        {holder === null
          ? t('{0} references hold this independently.', references.length)
          : t(
              '{0} references hold this independently, below {1}.',
              references.length,
              objectText(holder),
            )}{' '}
        {freed === null
          ? t('It is freed only without all of them.')
          : t('It is freed only without all of them: {0}.', bytesAndNative(freed, native))}
      </p>
      <ul class="heap-list">
        {references.map(({ way, source }, index) => (
          <li key={index}>
            <bdi class="code" title={visible(shorten(way, 1000))}>
              {visible(shorten(way, 120))}
            </bdi>{' '}
            {t('of')} <ObjectButton row={source} context={props.context} />
          </li>
        ))}
      </ul>
    </section>
  );
}
