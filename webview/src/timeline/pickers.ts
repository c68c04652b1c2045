// What the timeline's toolbar lets one choose: the picture and the device.

import { PICTURE_IDS } from '../../../extension/shared/commands';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import { hasHistory } from '../base/devices';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import type { Picker } from '../shell/toolbar';
import type { Picture } from './pictures/picture';
import type { TimelineSession } from './session';

/** The picture of areas is called a timeline where there is more than one moment. */
export function stackedName(device: DeviceInfo): string {
  return hasHistory(device) ? t('Timeline') : t('In use');
}

export function picturePicker(session: TimelineSession, pictures: readonly Picture[]): Picker {
  return {
    ...{ label: t('View'), key: '', value: session.picture.value },
    options: [
      { value: 'stacked', text: stackedName(session.device) },
      ...pictures.map(({ id, title }) => ({ value: id, text: title })),
    ],
    pick: (value) => {
      const id = PICTURE_IDS.find((each) => each === value);
      if (id) session.showPicture(id);
    },
  };
}

export function devicePicker(session: TimelineSession): Picker {
  return {
    ...{ label: t('Device'), key: 'd', value: String(session.device.device) },
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
