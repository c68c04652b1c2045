import path from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { MOST_SHOWN } from '../base/window';
import type { GraphState, HeapState, ProfileState, TimelineState, ViewState } from '../../shared/messages';

/** A place in a snapshot. The view checks the state's values, as it does with those of another session. */
export interface Link {
  /** The file's path: from its workspace folder if it is in one, else on the machine where the link was made. */
  path: string;
  /** Its path from its workspace folder, with slashes; null if it is in none. */
  within: string | null;
  state: ViewState | null;
}

const MOST_BYTES = 64 * 1024;

/** How the parts of a state are checked: a link may come from anywhere. */
type Checks<State> = Readonly<Record<keyof State, (value: unknown) => boolean>>;

const SHARED = {
  model: isText,
  pane: orNull(isText),
  filter: isText,
  compare: (value: unknown) => value === null,
};

const isFlame = orNull((value) => {
  const flame = fieldsOf(value);
  return ['fold', 'collapse', 'wholePaths'].every((name) => typeof flame[name] === 'boolean');
});

const TIMELINE: Checks<TimelineState> = {
  ...SHARED,
  device: isNumber,
  axis: isText,
  x0: isNumber,
  x1: isNumber,
  y0: isNumber,
  y1: isNumber,
  selection: orNull(isNumber),
  colour: isText,
  areas: orNull(isText),
  holdHeight: (value) => typeof value === 'boolean',
  picture: isText,
  scope: isText,
  kind: isText,
  first: orNull(isNumber),
  second: orNull(isNumber),
  flame: isFlame,
};

const PROFILE: Checks<ProfileState> = {
  ...SHARED,
  value: isNumber,
  range: orNull((value) => {
    const { kind, from, to } = fieldsOf(value);
    return isText(kind) && isNumber(from) && orNull(isNumber)(to);
  }),
  flame: isFlame,
};

const HEAP: Checks<HeapState> = {
  ...SHARED,
  graph: (value) => fitsAll(GRAPH, fieldsOf(value)),
};

const isFlag = (value: unknown): boolean => typeof value === 'boolean';

const GRAPH: Checks<GraphState> = {
  selection: orNull((value) => {
    const { is, object, kind, group } = fieldsOf(value);
    return isText(is) && [object, kind, group].some(isNumber);
  }),
  order: isText,
  reverse: isFlag,
  by: isText,
  through: listOf(isText),
  without: listOf((value) =>
    Object.values(fieldsOf(value)).every((each) => each === null || isNumber(each) || isText(each)),
  ),
  tree: isText,
  grouped: isText,
  sunburst: isFlag,
  images: isText,
  opened: (value) => Object.values(fieldsOf(value)).every(listOf(isText)),
  flame: isFlame,
  value: isNumber,
  // other files, which nobody has agreed to open
  series: (value) => Array.isArray(value) && value.length === 0,
  x0: isNumber,
  x1: isNumber,
  top: isNumber,
  fileBytes: isNumber,
};

const PARTS = { timeline: TIMELINE, profile: PROFILE, graph: HEAP } satisfies Record<
  ViewState['model'],
  object
>;

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

function alone(state: ViewState): ViewState {
  return state.model === 'graph'
    ? { ...state, compare: null, graph: { ...state.graph, series: [] } }
    : { ...state, compare: null };
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

function isState(value: unknown): value is ViewState {
  const fields = fieldsOf(value);
  const [, parts] = Object.entries(PARTS).find(([model]) => model === fields['model']) ?? [];
  return parts !== undefined && fitsAll(parts, fields);
}

type AnyChecks = Readonly<Record<string, (value: unknown) => boolean>>;

function fitsAll(checks: AnyChecks, fields: Record<string, unknown>): boolean {
  return Object.entries(checks).every(([name, fits]) => fits(fields[name]));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 4096;
}

function listOf(fits: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.length <= 10_000 && value.every(fits);
}

function orNull(fits: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === null || fits(value);
}
