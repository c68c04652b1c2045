// An object that is an image, drawn: the server reads the pixels from the dump, and nothing of it becomes HTML.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ImageRow } from '../../../extension/shared/protocol.gen';
import { count } from '../base/format';
import { said, t } from '../base/l10n';
import { isCancelled } from '../base/latest';
import { visible } from '../base/text';
import type { GraphSession } from './session';
import { Section } from './details-parts';
import { decode, draw } from './image-file';

type Shown =
  | { readonly is: 'waiting' }
  | { readonly is: 'drawn'; readonly every: number }
  | { readonly is: 'missing'; readonly text: string };

export function Picture({
  object,
  image,
  context,
}: {
  readonly object: number;
  readonly image: ImageRow;
  readonly context: GraphSession;
}): VNode {
  const shown = useSignal<Shown>({ is: 'waiting' });
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    shown.value = { is: 'waiting' };
    const asked = context.api.request('memlens/heapImage', { object });
    let current = true;
    asked.answer
      .then(async (answer) => {
        if (answer.missing) return { is: 'missing', text: said(answer.missing) } as const;
        const bitmap = await decode(answer);
        if (!bitmap) return { is: 'missing', text: t('The image can’t be decoded.') } as const;
        if (current && canvas.current) draw(canvas.current, bitmap);
        bitmap.close();
        return { is: 'drawn', every: answer.every } as const;
      })
      .then(
        (found) => {
          if (current) shown.value = found;
        },
        (error: unknown) => {
          if (current && !isCancelled(error)) context.failed(error);
        },
      );
    return () => {
      current = false;
      asked.cancel();
    };
  }, [object]);
  const size = `${count(image.width)} × ${count(image.height)}`;
  const { value } = shown;
  return (
    <Section title={t('Image')}>
      <canvas
        ref={canvas}
        class="heap-picture"
        role="img"
        aria-label={t('Image of {0} pixels', size)}
        hidden={value.is !== 'drawn'}
      />
      <p class={value.is === 'missing' ? 'hint' : 'muted'} role="status">
        {value.is === 'waiting' && t('Reading the pixels from the dump…')}
        {value.is === 'missing' && visible(value.text)}
        {value.is === 'drawn' &&
          visible([size, image.layout, everyText(value.every)].filter(Boolean).join('  ·  '))}
      </p>
      {value.is === 'drawn' && (
        <button type="button" class="link" onClick={() => save(context, canvas.current)}>
          {t('Save as PNG…')}
        </button>
      )}
    </Section>
  );
}

function everyText(every: number): string {
  return every === 1 ? '' : t('drawn at 1:{0}', count(every));
}

/** Lets the user save what is drawn. */
function save({ api }: GraphSession, canvas: HTMLCanvasElement | null): void {
  const text = canvas?.toDataURL('image/png').replace(/^.*,/, '') ?? '';
  if (text !== '') api.post({ type: 'saveText', form: 'png', text });
}
