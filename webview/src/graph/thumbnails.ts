// The small pictures of the gallery: asked for a few at a time as they come into view, and kept while there is room.

import type { GalleryRow, Thumbnail } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { said, t } from '../base/l10n';
import { isCancelled } from '../base/latest';
import type { Pending } from '../base/request';
import { decode } from './image-file';

/** Pixels of each side. */
const SIDE = 256;
const MOST_ASKED = 24;
/** Of 256 KiB at most. */
const MOST_KEPT = 240;

/** What is drawn of an image, or why nothing is. */
export type Shown = { readonly bitmap: ImageBitmap } | { readonly missing: string };

export class Thumbnails {
  /** By object; those that were wanted last stand last. */
  private readonly known = new Map<number, Shown>();
  private wanted: readonly GalleryRow[] = [];
  private asked: Pending<unknown> | null = null;
  private disposed = false;

  constructor(
    private readonly api: Pick<Api, 'request'>,
    /** Some are here. */
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  of(object: number): Shown | null {
    return this.known.get(object) ?? null;
  }

  /** These are in view: what isn't here of them is asked for, and nothing else. */
  want(rows: readonly GalleryRow[]): void {
    this.wanted = rows;
    for (const { object } of rows) {
      const shown = this.known.get(object.object);
      if (!shown) continue;
      this.known.delete(object.object);
      this.known.set(object.object, shown);
    }
    if (!this.asked) this.ask();
  }

  dispose(): void {
    this.disposed = true;
    this.asked?.cancel();
    for (const shown of this.known.values()) close(shown);
    this.known.clear();
  }

  private ask(): void {
    const left = this.wanted.filter(({ object }) => !this.known.has(object.object)).slice(0, MOST_ASKED);
    if (left.length === 0) return;
    const objects = left.map(({ object }) => object.object);
    const asked = this.api.request('memlens/heapThumbnails', { objects, side: SIDE });
    this.asked = asked;
    asked.answer
      .then(async ({ rows }) => {
        const shown = await Promise.all(
          rows.map((each) =>
            shownOf(
              each,
              left.find(({ object }) => object.object === each.object),
            ),
          ),
        );
        if (this.disposed) shown.forEach(close);
        else rows.forEach(({ object }, at) => this.keep(object, shown[at] ?? { missing: '' }));
        this.asked = null;
        if (this.disposed) return;
        this.arrived();
        if (rows.length > 0) this.ask();
      })
      .catch((error: unknown) => {
        this.asked = null;
        if (!isCancelled(error)) this.failed(error);
      });
  }

  private keep(object: number, shown: Shown): void {
    this.known.set(object, shown);
    const inView = new Set(this.wanted.map((row) => row.object.object));
    for (const [other, old] of this.known) {
      if (this.known.size <= MOST_KEPT) break;
      if (inView.has(other)) continue;
      this.known.delete(other);
      close(old);
    }
  }
}

async function shownOf(found: Thumbnail, row: GalleryRow | undefined): Promise<Shown> {
  if (found.missing) return { missing: said(found.missing) };
  const { width = 1, height = 1, layout = '' } = row?.image ?? {};
  // a file of the dump's is as large as it is; by one of its sides alone the other follows
  const options: ImageBitmapOptions =
    layout === 'ENCODED' && Math.max(width, height) > SIDE
      ? { resizeQuality: 'medium', ...(width > height ? { resizeWidth: SIDE } : { resizeHeight: SIDE }) }
      : {};
  const bitmap = await decode(found, options);
  return bitmap ? { bitmap } : { missing: t('The image can’t be decoded.') };
}

function close(shown: Shown): void {
  if ('bitmap' in shown) shown.bitmap.close();
}
