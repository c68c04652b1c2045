// What the timeline's toolbar lets one choose: the picture and the device.

import { AREA_KINDS, type AreaKind } from '../../../extension/shared/commands';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import { hasHistory } from '../base/devices';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import type { Picker } from '../shell/toolbar';
import type { Picture } from './pictures/picture';
import type { TimelineSession } from './session';

const NO_GROUPS = 'none';

/** The picture of areas is called a timeline where there is more than one moment. */
export function stackedName(device: DeviceInfo): string {
  return hasHistory(device) ? t('Timeline') : t('In use');
}

export function picturePicker(session: TimelineSession, pictures: readonly Picture[]): Picker {
  return {
    label: t('View'),
    key: '',
    value: session.picture.value,
    options: [
      { value: 'stacked', text: stackedName(session.device) },
      ...pictures.map(({ id, title }) => ({ value: id, text: title })),
    ],
    pick: (value) => {
      session.showPicture(pictures.find(({ id }) => id === value)?.id ?? 'stacked');
    },
  };
}

/** What the areas of the picture are; one of them is none: each allocation by itself, as PyTorch's viewer has them. */
export function groupPicker({ areas, colours, picture }: TimelineSession): Picker {
  const kinds = AREA_KINDS.filter((kind) => kind !== 'category' || colours.categories.length > 0);
  return {
    label: t('Group by'),
    key: 'g',
    value: areas.kind ?? NO_GROUPS,
    options:
      picture.value === 'stacked' || picture.value === 'map'
        ? [
            ...kinds.map((kind) => ({ value: kind, text: groupTitle(kind) })),
            { value: NO_GROUPS, text: t('PyTorch order') },
          ]
        : [],
    pick: (value) => areas.groupBy(AREA_KINDS.find((kind) => kind === value) ?? null),
  };
}

export function groupTitle(kind: AreaKind): string {
  switch (kind) {
    case 'line':
      return t('By line');
    case 'function':
      return t('By function');
    case 'module':
      return t('By module');
    case 'category':
      return t('By category');
    case 'file':
      return t('By file');
    case 'size':
      return t('By size');
  }
}

export function devicePicker(session: TimelineSession): Picker {
  return {
    label: t('Device'),
    key: 'd',
    value: String(session.device.device),
    options: session.info.devices.map(({ device, name, peak_bytes: peak, ooms }) => ({
      value: String(device),
      text:
        ooms > 0
          ? t('{0} · peak {1} · out of memory', said(name), bytes(peak))
          : t('{0} · peak {1}', said(name), bytes(peak)),
    })),
    pick: (value) => session.switchDevice(Number(value)),
  };
}
