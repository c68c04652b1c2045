// What a profile's view is made of, put together.

import type { ComponentType } from 'preact';
import type { ProfileState } from '../../../extension/shared/messages';
import type { ProfileInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { t } from '../base/l10n';
import type { FlamePane } from '../flame/pane';
import { makeAround, type Around, type AroundOwner } from '../shell/around';
import { Dock } from '../shell/dock';
import { PROFILE_TERMS } from '../shell/filter-terms';
import { ViewFrame } from '../shell/frame';
import { profileKeys } from './key-list';
import { tabsOf } from '../shell/pane';
import { PROFILE_PANES } from './panes';
import { restoreLayout } from '../shell/state';
import type { Layout } from '../base/saved';
import type { ProfileContext } from './context';
import { ProfileTimes } from './times';

export interface ProfileParts extends Omit<Around, 'Head'> {
  readonly dock: Dock;
  readonly frame: ViewFrame;
  /** Null where the file has nothing over time. */
  readonly times: ProfileTimes | null;
}

export interface PartsOwner extends AroundOwner {
  readonly filter: string;
  /** Panes came or went, or have other room. */
  arrange(): void;
  toggleTall(): void;
  rangeChanged(): void;
  say(text: string): void;
}

interface Given {
  readonly api: Api;
  readonly root: HTMLElement;
  readonly info: ProfileInfo;
  readonly context: ProfileContext;
  readonly flame: FlamePane;
  /** How it was when the view was last open. */
  readonly state: ProfileState | null;
  readonly layout: Layout | undefined;
}

export function makeParts(owner: PartsOwner, given: Given): ProfileParts {
  const { api, root, info, context, flame, layout } = given;
  const failed = (error: unknown): void => owner.failed(error);
  const dock = new Dock(
    // its set is its value
    null,
    {
      shown: () => owner.arrange(),
      toggleTall: () => owner.toggleTall(),
      failed,
    },
    tabsOf(context, PROFILE_PANES),
    1,
  );
  const { Head, ...around } = makeAround(api, info, owner, {
    ...{ label: t('Profile'), terms: PROFILE_TERMS, keys: profileKeys() },
    next: {
      text:
        info.bins > 0
          ? t('Drag over the curve to see what was allocated, freed or kept in that time, or {0}.')
          : t('Click a box to see its callers and lines, or {0}.'),
      link: t('compare with another profile'),
    },
  });
  const times = info.bins === 0 ? null : makeTimes(owner, given);
  const frame = new ViewFrame(
    root,
    {
      ...{
        Head,
        Files: around.fileBar.View,
        Lanes: times?.View,
        pictures: [placeFlame(flame, info)],
        flat: true,
        dock,
      },
      Help: around.help.View,
    },
    { ...restoreLayout(layout), panelOpen: false },
    () => owner.arrange(),
    () => api.post({ type: 'showLog' }),
  );
  return { ...around, dock, frame, times };
}

/** The flame graph as the picture of the view. */
function placeFlame(flame: FlamePane, { bins }: ProfileInfo): ComponentType {
  // the value is chosen for all of the view, and without times there is no order of time
  flame.without('value', ...(bins === 0 ? (['order'] as const) : []));
  return () => (
    <flame.View
      class="main-flame"
      onKeyDown={(event) => {
        if (event.defaultPrevented || !flame.key(event)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <flame.Bar hidden={false} />
    </flame.View>
  );
}

function makeTimes(owner: PartsOwner, { api, info, context, state }: Given): ProfileTimes {
  return new ProfileTimes(
    api,
    info,
    {
      changed: () => owner.rangeChanged(),
      failed: (error) => owner.failed(error),
      say: (text) => owner.say(text),
      filter: () => owner.filter,
      usualKind: () => (context.value.meaning === 'end' ? 'survived' : 'allocated'),
    },
    state?.range ?? null,
  );
}
