import type { ViewState } from '../../shared/messages';

const MOST = 100;
/** Changes of the same parts of a state within this time of each other are one: a search typed, a zoom by the wheel. */
const TOGETHER_MS = 1_000;

interface Entry {
  state: ViewState;
  /** What the user had done on the page when the state was reported; 0 for a restored one. */
  acts: number;
  /** The parts in which it differs from the entry before it. */
  readonly changed: string;
  at: number;
}

/** The places where a view has been, for Back and Forward. */
export class History {
  #entries: Entry[] = [];
  #index = -1;

  /** The state of a view after the user has done `acts` things on its page. */
  record(state: ViewState, acts: number, now: number): void {
    const current = this.#entries[this.#index];
    const changed = current === undefined ? '' : changes(current.state, state);
    const fast = current?.changed === changed && now - current.at < TOGETHER_MS;
    // What follows from the same act, or from none of the user's, belongs to the same place.
    if (current !== undefined && (changed === '' || acts === current.acts || (fast && this.#isLast))) {
      Object.assign(current, { state, ...(changed === '' ? {} : { acts, at: now }) });
      return;
    }
    this.#entries.splice(this.#index + 1, Infinity, { state, acts, changed, at: now });
    this.#entries.splice(0, this.#entries.length - MOST);
    this.#index = this.#entries.length - 1;
  }

  can(by: -1 | 1): boolean {
    return this.#entries[this.#index + by] !== undefined;
  }

  /** Go to the place before or after; null when there is none. */
  go(by: -1 | 1): ViewState | null {
    const entry = this.#entries[this.#index + by];
    if (entry === undefined) return null;
    this.#index += by;
    this.restart();
    return entry.state;
  }

  /** The page is a new one, or shows what it was sent: it counts from 0. */
  restart(): void {
    const current = this.#entries[this.#index];
    if (current !== undefined) Object.assign(current, { acts: 0, at: 0 });
  }

  /** The file is another one, whose numbers mean something else. */
  clear(): void {
    this.#entries = [];
    this.#index = -1;
  }

  get #isLast(): boolean {
    return this.#index === this.#entries.length - 1;
  }
}

/**
 * The names of the parts in which two states differ. Which file it is compared with isn't one of the view's places, and
 * neither is which rows are open.
 */
function changes(one: ViewState, other: ViewState): string {
  return partsOf(one)
    .filter(([, text], index) => text !== partsOf(other)[index]?.[1])
    .map(([name]) => name)
    .join();
}

function partsOf(state: ViewState): [name: string, text: string][] {
  const { uri: _uri, ...compare } = state.compare ?? { uri: '' };
  return Object.entries({ ...ownParts(state), compare }).map(([name, value]) => [
    name,
    JSON.stringify(value),
  ]);
}

function ownParts(state: ViewState): object {
  if (state.model === 'graph') {
    const { x0, x1, top, opened: _opened, ...graph } = state.graph;
    return { ...state, graph: null, ...graph, camera: [x0, x1, top] };
  }
  const { place, ...flame } = state.flame ?? { place: null };
  if (state.model === 'profile') return { ...state, place, flame };
  const { x0, x1, y0: _y0, y1: _y1, ...others } = state;
  return { ...others, camera: [x0, x1].map((x) => x.toPrecision(6)), place, flame };
}
