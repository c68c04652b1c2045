// The bookmarks of a heap dump: objects, types and groups that the user keeps, each with a note.

import type { HeapSelection } from '../../../extension/shared/messages';
import type { HeapBookmark } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { plural, said, t } from '../base/l10n';
import { BookmarkList } from '../shell/bookmark-list';
import { sameSelection } from './selected';
import { objectText, shortType } from './words';

export class HeapBookmarks extends BookmarkList<HeapBookmark> {
  constructor(api: Pick<Api, 'post' | 'request'>, failed: (error: unknown) => void) {
    super(api, () => api.request('memlens/heapBookmarks', {}), failed);
    this.renew();
  }

  /** That of what is selected. */
  of(selection: HeapSelection): HeapBookmark | undefined {
    return this.list.value.find(({ place }) => sameSelection(place, selection));
  }

  /** Lets the user write a note for an object, a type or a group. */
  add(selection: HeapSelection): void {
    const there = this.of(selection);
    this.keep(selection, there, there ? nameOf(there) : KINDS[selection.is]);
  }

  /** The one after that of what is selected, or before it; beyond the ends it begins again. */
  next(selection: HeapSelection | null, by: 1 | -1): HeapBookmark | null {
    const all = this.list.value;
    const at = all.findIndex(({ place }) => sameSelection(place, selection));
    const from = at < 0 && by < 0 ? 0 : at;
    return all.at((from + by) % all.length) ?? null;
  }

  protected override inJson(one: HeapBookmark): unknown {
    return { ...one, name: one.name.text };
  }
}

const KINDS: Readonly<Record<HeapSelection['is'], string>> = {
  object: t('this object'),
  type: t('this type'),
  group: t('this group'),
};

/** "Session @5143", "Session", "12 objects: Session" */
export function nameOf({ object, place, name, objects }: HeapBookmark): string {
  if (object) return objectText(object);
  const type = shortType(said(name));
  if (place.is !== 'group' || objects === 0) return type;
  return plural(objects, '{0} object: {1}', '{0} objects: {1}', type);
}
