import type { GraphState, HeapState, ProfileState, TimelineState, ViewState } from '../../shared/messages';

/** Of a text: a filter has up to 4,096 characters, each of which may be a surrogate pair. */
const MOST_UNITS = 2 * 4096;

/** How the parts of a state are checked: a link may come from anywhere, and a page may say anything. */
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
  // other files, which nobody has agreed to open here
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

/** A state without the files that the snapshot is shown with. */
export function alone(state: ViewState): ViewState {
  return state.model === 'graph'
    ? { ...state, compare: null, graph: { ...state.graph, series: [] } }
    : { ...state, compare: null };
}

/** What a page says of a view, with no other files than the user chose for it; null if it isn't a state. */
export function ofPage(said: unknown, other: string | null, series: readonly string[]): ViewState | null {
  const { compare, ...fields } = fieldsOf(said);
  const graph = fieldsOf(fields['graph']);
  const { filter } = fields;
  const state = {
    ...fields,
    // the server refuses a longer one, without which the rest is kept
    filter: typeof filter === 'string' && !isText(filter) ? '' : filter,
    compare: null,
    ...('graph' in fields ? { graph: { ...graph, series: [] } } : {}),
  };
  if (!isState(state)) return null;
  const { uri } = fieldsOf(compare);
  const isChosen = other !== null && uri === other && Object.values(fieldsOf(compare)).every(isPlain);
  // SAFETY: its file is the one that is open, and the page checks its options.
  const kept = { ...state, compare: isChosen ? (compare as ViewState['compare']) : null };
  if (kept.model !== 'graph') return kept;
  const named = Array.isArray(graph['series']) ? graph['series'] : [];
  return { ...kept, graph: { ...kept.graph, series: series.filter((each) => named.includes(each)) } };
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value === 'boolean' || isNumber(value) || isText(value);
}

/** Whether a value is a state without other files, as far as types say. */
export function isState(value: unknown): value is ViewState {
  const fields = fieldsOf(value);
  const [, parts] = Object.entries(PARTS).find(([model]) => model === fields['model']) ?? [];
  return parts !== undefined && fitsAll(parts, fields);
}

type AnyChecks = Readonly<Record<string, (value: unknown) => boolean>>;

function fitsAll(checks: AnyChecks, fields: Record<string, unknown>): boolean {
  return Object.entries(checks).every(([name, fits]) => fits(fields[name]));
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}

export function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MOST_UNITS;
}

function listOf(fits: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.length <= 10_000 && value.every(fits);
}

export function orNull(fits: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => value === null || fits(value);
}
