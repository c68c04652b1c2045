// What the timeline's toolbar lets one choose: the picture and the device.

import { PICTURE_IDS } from '../../../extension/shared/messages';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { t } from '../base/l10n';
import type { Picker } from '../shell/toolbar';
import type { Arrangement } from './arrangement';
import type { Picture } from './pictures/picture';

export const STACKED = { value: 'stacked', text: t('Timeline') } as const;

export function picturePicker(arrangement: Arrangement, pictures: readonly Picture[]): Picker {
  return {
    ...{ label: t('View'), key: '', value: arrangement.picture },
    options: [STACKED, ...pictures.map(({ id, title }) => ({ value: id, text: title }))],
    pick: (value) => {
      const id = PICTURE_IDS.find((each) => each === value);
      if (id) arrangement.showPicture(id);
    },
  };
}

export function devicePicker(
  devices: readonly DeviceInfo[],
  shown: number,
  pick: (device: number) => void,
): Picker {
  return {
    ...{ label: t('Device'), key: 'd', value: String(shown) },
    options: devices.map(({ device, name, peak_bytes: peak, ooms }) => ({
      value: String(device),
      text:
        ooms > 0
          ? t('{0} · peak {1} · out of memory', name, bytes(peak))
          : t('{0} · peak {1}', name, bytes(peak)),
    })),
    pick: (value) => pick(Number(value)),
  };
}
