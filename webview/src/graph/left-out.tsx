// What paths leave out, to see what else keeps something alive: the menu that does so, and what is left out as chips.

import type { VNode } from 'preact';
import type { GraphState } from '../../../extension/shared/messages';
import type { ObjectRow, WithoutAnswer } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { shorten, visible } from '../base/text';
import { Icon } from '../widgets/icon';
import type { MenuEntry, MenuItem } from '../widgets/menu';
import { bytesAndNative, objectsText, objectText, shortType } from './words';

type LeavesOut = GraphState['without'][number];

/** Changes what is left out. */
export type LeaveOut = (without: readonly LeavesOut[]) => void;

/** A reference and where it leads: what the menu of a link can leave out. */
interface Link {
  /** The type of what has the reference; empty of a root. */
  readonly above: string;
  readonly name: string;
  /** What it leads to, where that holds something in turn. */
  readonly object: ObjectRow | null;
  readonly type: string | null;
}

const INDEX = /^\[(\d+|\?|…)\]$/;

/** What leaves out the holders that a link names. */
export function leaveOutItems(
  { above, name, object, type }: Link,
  without: readonly LeavesOut[],
  change: LeaveOut,
): readonly MenuEntry[] {
  const item = (text: string, holder: LeavesOut): MenuItem => ({
    text,
    disabled: without.some((each) => same(each, holder)),
    run: () => change([...without, holder]),
  });
  const isNamed = above !== '' && name !== '' && !INDEX.test(name);
  const both = isNamed
    ? ([
        { is: 'name', name, type: above },
        { is: 'name', name, type: null },
      ] as const)
    : [];
  return [
    ...both.map((holder) =>
      item(
        holder.type === null
          ? t('Leave Out Any .{0}', visible(shorten(name, 80)))
          : t('Leave Out {0}', textOf(holder, null)),
        holder,
      ),
    ),
    ...(object === null
      ? []
      : [item(t('Leave Out {0}', objectText(object)), { is: 'object', object: object.object } as const)]),
    ...(type === null
      ? []
      : [item(t('Leave Out All {0}', visible(shortType(type))), { is: 'type', type } as const)]),
  ];
}

interface LeftOutProps {
  readonly without: readonly LeavesOut[];
  readonly found: WithoutAnswer | null;
  readonly change: LeaveOut;
}

/** What is left out, above the paths; each is there again at a press. */
export function LeftOut({ without, found, change }: LeftOutProps): VNode | null {
  if (without.length === 0) return null;
  return (
    <div class="heap-left-out" role="group" aria-label={t('Left out')}>
      <span class="muted">{t('Left out:')}</span>
      {without.map((holder, index) => {
        const object =
          holder.is === 'object' ? found?.objects.find((row) => row.object === holder.object) : undefined;
        const text = textOf(holder, object ?? null);
        return (
          <button
            key={index}
            type="button"
            class="chip"
            title={t('Put back {0}', text)}
            aria-label={t('Put back {0}', text)}
            onClick={() => change(without.filter((each) => each !== holder))}
          >
            <bdi>{shorten(text, 80)}</bdi>
            <Icon name="close" />
          </button>
        );
      })}
      <button type="button" class="link" onClick={() => change([])}>
        {t('Clear')}
      </button>
      {found && (
        <span class="muted" role="status">
          {found.freed_objects > 0
            ? t(
                'Without this, {0} in {1} would be freed.',
                bytesAndNative(found.freed_bytes, found.freed_native_bytes),
                objectsText(found.freed_objects),
              )
            : t('Without this, nothing would be freed.')}
        </span>
      )}
    </div>
  );
}

/** "Cache @405", "all Session", "Session.owner", "any .owner". */
function textOf(holder: LeavesOut, object: ObjectRow | null): string {
  switch (holder.is) {
    case 'object':
      return object ? objectText(object) : `#${holder.object}`;
    case 'type':
      return t('all {0}', visible(shortType(holder.type)));
    case 'name':
      return holder.type === null
        ? t('any .{0}', visible(shorten(holder.name, 80)))
        : visible(`${shortType(holder.type)}.${shorten(holder.name, 80)}`);
  }
}

function same(a: LeavesOut, b: LeavesOut): boolean {
  switch (a.is) {
    case 'object':
      return b.is === 'object' && a.object === b.object;
    case 'type':
      return b.is === 'type' && a.type === b.type;
    case 'name':
      return b.is === 'name' && a.name === b.name && a.type === b.type;
  }
}
