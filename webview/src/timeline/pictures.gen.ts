// Written by `npm run contract`: what files declare, in the order of its places.
import { type PictureOf } from './pictures/picture';
import { mapPicture } from './pictures/map';
import { reservedPicture } from './pictures/reserved';
import { comparePicture } from './pictures/compare';

export const PICTURES: readonly PictureOf[] = [
  mapPicture,
  reservedPicture,
  comparePicture,
];
