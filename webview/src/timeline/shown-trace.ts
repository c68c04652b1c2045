// What of a trace is shown, as the parts of its session know it: the session has these parts, and so isn't imported by them.

import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { Axis } from '../base/devices';
import type { Names } from '../base/names';

export interface ShownTrace {
  readonly api: Api;
  readonly device: DeviceInfo;
  readonly axis: Axis;
  readonly filter: string;
  /** The filter, with the changes of a replay. */
  readonly filterAsIf: string;
  readonly names: Names;
  say(text: string): void;
  failed(error: unknown): void;
}
