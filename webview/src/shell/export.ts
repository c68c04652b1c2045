// What of a snapshot can be taken along: its picture, and a report.

import type { Api } from '../api';
import type { Pending } from '../base/request';
import { theme } from '../canvas/theme';

export type AskedSvg = Pending<{ readonly svg: string }>;

/** Files have a light theme or a dark one. */
export function svgTheme(): 'light' | 'dark' {
  return theme.value.kind.endsWith('dark') ? 'dark' : 'light';
}

/** Lets the user save a picture as the server draws it. */
export async function savePicture(
  api: Pick<Api, 'post'>,
  form: 'svg' | 'png',
  asked: AskedSvg,
): Promise<void> {
  const { svg } = await asked.answer;
  api.post({
    type: 'saveText',
    form,
    text: form === 'svg' ? svg : (await import('../canvas/png')).pngOf(svg),
  });
}

/** Lets the user save a report as a page, or puts it on the clipboard as Markdown. */
export async function takeReport(
  api: Pick<Api, 'post' | 'request'>,
  form: 'html' | 'markdown',
  device: number | null,
  values: boolean,
): Promise<void> {
  const { text } = await api.request('memlens/report', { form, device, values }).answer;
  api.post(form === 'html' ? { type: 'saveText', form, text } : { type: 'copy', text });
}
