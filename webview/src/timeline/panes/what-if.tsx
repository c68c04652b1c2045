// What would have happened: the trace replayed with other settings of the allocator, or with some allocations changed.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Curves, Run, WhatIf, WhatIfAnswer } from '../../../../extension/shared/protocol.gen';
import { bytes } from '../../base/format';
import { count, said, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf, shorten, visible } from '../../base/text';
import type { TimelineSession } from '../session';
import type { Pane, PaneRoom } from '../../shell/pane';
import { withSign } from '../../compare/comparison';
import { Dropdown } from '../../widgets/choice';
import { IconButton } from '../../widgets/icon-button';
import { number, SizeCell, TableHead } from '../../widgets/table-parts';
import { changeKinds, type Change } from '../what-if';
import { HowLarge } from './how-large';
import { PinningTable } from './oom-parts';

const GIB = 2 ** 30;

class Replays {
  readonly answer = signal<WhatIfAnswer | null>(null);
  readonly note = signal('');
  /** What could be reserved, if it is another than the file says. */
  private capacity: number | null = null;
  /** The row whose reserved memory is drawn; null for the first replay, else the trace itself. */
  readonly chosen = signal<number | null>(null);
  private readonly latest = new Latest();

  constructor(readonly context: TimelineSession) {}

  cancel(): void {
    this.latest.cancel();
  }

  /** Replays with so much to reserve; null for what the file says. */
  reserve(capacity: number | null): void {
    this.capacity = capacity;
    this.ask();
  }

  /** Replays with what is changed now, by the settings that may help. */
  ask(): void {
    const { api, device, axis, whatIf } = this.context;
    this.note.value = t('Replaying…');
    this.latest.ask(
      api.request('memlens/whatIf', {
        device: device.device,
        axis,
        changes: whatIf.filters,
        capacity_bytes: this.capacity,
      }),
      (answer) => {
        this.note.value = '';
        this.chosen.value = null;
        this.answer.value = answer;
      },
      (error) => {
        this.answer.value = null;
        this.note.value = messageOf(error);
      },
    );
  }
}

export const whatIfPane = (context: TimelineSession): Pane => {
  const replays = new Replays(context);
  return {
    View: (room) => <WhatIfView replays={replays} room={room} />,
    update: (changes) => {
      if (changes.has('device')) replays.reserve(null);
      else if (changes.has('axis') || changes.has('whatIf')) replays.ask();
    },
    dispose: () => replays.cancel(),
  };
};

function WhatIfView({ replays, room }: { readonly replays: Replays; readonly room: PaneRoom }): VNode {
  const { context } = replays;
  const { changes } = context.whatIf;
  const answer = replays.answer.value;
  return (
    <section {...room} class="what-if pane">
      {changes.length > 0 && <Changed changes={changes} replays={replays} />}
      <p class="what-if-conclusion" role="status">
        {replays.note.value || (answer?.conclusion ? said(answer.conclusion) : '')}
      </p>
      {answer?.largest && <p>{said(answer.largest)}</p>}
      {answer && <CurvePicture found={answer.found} row={rowOf(replays, answer.found.rows)} />}
      {answer && <Rows replays={replays} rows={answer.found.rows} />}
      {answer?.fragmentation && <p>{said(answer.fragmentation)}</p>}
      {answer?.fragmentation && answer.found.fragmentation && (
        <PinningTable
          pinning={answer.found.fragmentation.pinning}
          reserved={answer.found.fragmentation.reserved_bytes}
          linked={{ context, mark: null }}
        />
      )}
      {answer && <Notes answer={answer} />}
      {answer?.found.calibration.reason === null && (
        <Memory
          key={context.device.device}
          capacity={answer.found.capacity_bytes}
          reserve={(bytes) => replays.reserve(bytes)}
        />
      )}
      {answer?.found.calibration.reason === null && (
        <HowLarge key={context.device.device} context={context} capacity={answer.found.capacity_bytes} />
      )}
      {changes.length === 0 && (
        <p class="muted">
          {t(
            'To leave a line out, choose “What If Without This” in the menu of a row or of the picture. It can then also be halved, freed at once or computed again.',
          )}
        </p>
      )}
    </section>
  );
}

/** How much there is to reserve, as the file says it or as it is typed. */
function Memory(props: {
  readonly capacity: number | null;
  readonly reserve: (capacity: number | null) => void;
}): VNode {
  return (
    <p class="what-if-fields">
      <label>
        {t('Memory limit of the replay, in GiB')}
        <input
          name="capacity"
          type="number"
          min="0"
          max="100000"
          step="any"
          placeholder={props.capacity === null ? t('not known') : (props.capacity / GIB).toFixed(2)}
          onChange={({ currentTarget: field }) => {
            if (field.reportValidity()) props.reserve(Math.round(Number(field.value) * GIB) || null);
          }}
        />
      </label>
    </p>
  );
}

/** What is changed, each to be changed otherwise and switched on and off. */
function Changed({
  changes,
  replays,
}: {
  readonly changes: readonly Change[];
  readonly replays: Replays;
}): VNode {
  const { whatIf } = replays.context;
  return (
    <ul class="what-if-terms" aria-label={t('Changed')}>
      {changes.map(({ kind, term, name, on }) => (
        <li key={term}>
          <label title={shorten(term, 300)}>
            <input
              type="checkbox"
              checked={on}
              onChange={({ currentTarget }) => whatIf.update(term, { on: currentTarget.checked })}
            />
            <bdi>{visible(shorten(name, 80))}</bdi>
          </label>
          <Dropdown
            label={t('Change of {0}', shorten(name, 80))}
            options={changeKinds()}
            value={kind}
            change={(other) => whatIf.update(term, { kind: other })}
          />
          <IconButton icon="close" label={t('Remove')} press={() => whatIf.remove(term)} />
        </li>
      ))}
    </ul>
  );
}

/** The number of the row whose reserved memory is drawn: with changes the first replay, else the trace itself. */
function rowOf({ chosen, context }: Replays, rows: readonly Run[]): number {
  return chosen.value ?? (context.whatIf.changes.some(({ on }) => on) && rows.length > 1 ? 1 : 0);
}

/** What was live over the trace and what would have been, and what one of the rows had reserved. */
function CurvePicture({
  found: { curves, rows },
  row,
}: {
  readonly found: WhatIf;
  readonly row: number;
}): VNode | null {
  const shown = rows[row];
  if (!curves || !shown) return null;
  const { recorded, changed } = curves;
  const { reserved } = shown;
  const most = Math.max(...recorded, ...changed, ...reserved, 1);
  // each column has a width, over which its value stays the same
  const path = (values: readonly number[]): string =>
    values
      .map((value, at) => `${at === 0 ? 'M0 ' : 'V'}${(100 - (100 * value) / most).toFixed(2)}H${at + 1}`)
      .join('');
  const words = `${allocatedWords(curves)}. ${t(
    '{0}: at most {1} reserved (dashed)',
    shorten(nameOf(row, shown), 200),
    bytes(Math.max(...reserved, 0)),
  )}.`;
  return (
    <figure class="what-if-curve">
      <svg viewBox={`0 0 ${recorded.length} 100`} preserveAspectRatio="none" role="img" aria-label={words}>
        <path class="changed" d={`${path(changed)}V100H0Z`} />
        <path class="recorded" d={path(recorded)} />
        <path class="reserved" d={path(reserved)} />
      </svg>
      <figcaption class="muted">{visible(words)}</figcaption>
    </figure>
  );
}

function allocatedWords({ recorded, changed }: Curves): string {
  const [before, now] = [recorded, changed].map((values) => Math.max(...values, 0));
  return recorded.every((value, at) => value === changed[at])
    ? t('Allocated over the trace: at most {0} (filled)', bytes(now ?? 0))
    : t(
        'Allocated over the trace: at most {0} with the changes (filled), {1} as recorded (line)',
        bytes(now ?? 0),
        bytes(before ?? 0),
      );
}

function Rows({ replays, rows }: { readonly replays: Replays; readonly rows: readonly Run[] }): VNode {
  const shown = rowOf(replays, rows);
  const [recorded] = rows;
  // what ran out of memory didn't come to its peak
  const comparable = recorded?.out_of_memory === null ? recorded : null;
  return (
    <table>
      <TableHead
        columns={[
          t('Settings'),
          number(t('Peak allocated')),
          number(t('Peak reserved')),
          ...(comparable ? [number(t('Change'))] : []),
          t('Out of memory'),
        ]}
      />
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            <th scope="row">
              <button
                type="button"
                class="link"
                aria-pressed={at === shown}
                title={t('Draw what is reserved')}
                onClick={() => (replays.chosen.value = at)}
              >
                {visible(nameOf(at, row))}
              </button>
            </th>
            <SizeCell size={row.peak_allocated_bytes}>{bytes(row.peak_allocated_bytes)}</SizeCell>
            <SizeCell size={row.peak_reserved_bytes}>{bytes(row.peak_reserved_bytes)}</SizeCell>
            {comparable && (
              <td class="number">
                {row === recorded || row.out_of_memory
                  ? ''
                  : withSign(row.peak_reserved_bytes - comparable.peak_reserved_bytes)}
              </td>
            )}
            <td>{outcomeOf(row)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function nameOf(at: number, { settings }: Run): string {
  if (at === 0) return t('As recorded');
  return settings === 'recorded' ? t('The recorded settings') : shorten(settings, 200);
}

function outcomeOf({ out_of_memory: failure }: Run): string {
  if (!failure) return t('No');
  const { event, missing_bytes: missing } = failure;
  if (event < 0) {
    return missing === null
      ? t('Before the first event')
      : t('Before the first event, {0} missing', bytes(missing));
  }
  return missing === null
    ? t('At event {0}', count(event + 1))
    : t('At event {0}, {1} missing', count(event + 1), bytes(missing));
}

/** What the figures rest on. */
function Notes({
  answer: { again, assumption, exactness, found },
}: {
  readonly answer: WhatIfAnswer;
}): VNode {
  const { capacity_bytes: capacity, rows, calibration } = found;
  const notes = [
    `${said(exactness)}.`,
    calibration.reason === null && capacity !== null && t('At most {0} could be reserved.', bytes(capacity)),
    calibration.reason === null &&
      capacity === null &&
      rows.every((row) => row.out_of_memory === null) &&
      t('The file doesn’t say how much memory there was. Enter it below to see what would run out.'),
    again !== null && said(again),
    assumption !== null && said(assumption),
  ];
  return <p class="muted">{visible(notes.filter((note) => note !== false).join(' '))}</p>;
}
