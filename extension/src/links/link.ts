import path from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { MOST_SHOWN } from '../base/window';
import { alone, fieldsOf, isState, isText, orNull } from '../editor/states-checked';
import type { ViewState } from '../../shared/messages';

/** A place in a snapshot. The view checks the state's values, as it does with those of another session. */
export interface Link {
  /** The file's path: from its workspace folder if it is in one, else on the machine where the link was made. */
  path: string;
  /** Its path from its workspace folder, with slashes; null if it is in none. */
  within: string | null;
  state: ViewState | null;
}

const MOST_BYTES = 64 * 1024;

/** A path as links have it: one in the user's home folder, which names a person, begins with "~/". */
export function sharedPath(file: string, home: string): string {
  const below = path.relative(home, file);
  const isBelow = below !== '' && !below.startsWith('..') && !path.isAbsolute(below);
  return isBelow ? `~/${below.split(path.sep).join('/')}` : file;
}

/** The path on this machine that a link's path stands for. */
export function ownPath(file: string, home: string): string {
  return file.startsWith('~/') ? path.join(home, file.slice(2)) : file;
}

/** The link as text. Files that the snapshot is compared with stay out: a link opens one file. */
export function writeLink(scheme: string, extension: string, link: Link): string {
  const state = link.state && alone(link.state);
  const packed = deflateRawSync(JSON.stringify({ ...link, state })).toString('base64url');
  return `${scheme}://${extension}/open?at=${packed}`;
}

/** Whether a filter may read other files, or run a query: terms may stand anywhere in it, also in quotes of others. */
export function readsMore(filter: string): boolean {
  return /\b(?:in|query)\s*[:=<>]/i.test(filter);
}

/** The link of a URI's path and query; null if it is none of ours, or damaged. */
export function readLink(uri: { path: string; query: string }): Link | null {
  const [, packed] = /^at=([\w-]+)$/.exec(uri.query) ?? [];
  if (uri.path !== '/open' || packed === undefined) return null;
  let link: unknown;
  try {
    const text = inflateRawSync(Buffer.from(packed, 'base64url'), { maxOutputLength: MOST_BYTES });
    link = JSON.parse(text.toString('utf8'));
  } catch {
    return null;
  }
  const { path, within, state } = fieldsOf(link);
  // what can't be shown whole can't be agreed to
  if (typeof path !== 'string' || path === '' || path.length > MOST_SHOWN || !orNull(isText)(within))
    return null;
  // SAFETY: the fields were checked one by one.
  return { path, within: within as string | null, state: isState(state) ? agreeable(state) : null };
}

/** A state without its filter, if that would have to be agreed to and is too long to be shown whole. */
function agreeable(state: ViewState): ViewState {
  return readsMore(state.filter) && state.filter.length > MOST_SHOWN ? { ...state, filter: '' } : state;
}
