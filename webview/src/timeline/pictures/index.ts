// The pictures beside the stacked one, in the order of their buttons. One that a snapshot can't fill is null.

import { comparePicture } from './compare';
import { mapPicture } from './map';
import type { MakePicture } from './picture';
import { reservedPicture } from './reserved';

export const PICTURES: readonly MakePicture[] = [mapPicture, reservedPicture, comparePicture];
