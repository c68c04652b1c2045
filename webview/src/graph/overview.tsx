// The heap as a whole in one row: how much, what no root reaches, and what it consists of.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { HeapOverviewAnswer, ShareRow } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { bytes, counted, exactBytes, share } from '../ui/format';
import { visible } from '../ui/text';

const MOST_PARTS = 6;

export interface OverviewEvents {
  /** A part of the heap was chosen, by the filter that names it. */
  readonly choose: (filter: string) => void;
  readonly failed: (error: unknown) => void;
}

export class Overview {
  readonly root = document.createElement('section');
  private readonly answer = signal<HeapOverviewAnswer | null>(null);

  constructor(api: Api, events: OverviewEvents) {
    this.root.className = 'heap-overview';
    this.root.setAttribute('aria-label', 'The heap as a whole');
    render(<Strip answer={this.answer} choose={events.choose} />, this.root);
    api.request('memlens/heapOverview', {}).answer.then((found) => {
      this.answer.value = found;
    }, events.failed);
  }

  dispose(): void {
    render(null, this.root);
  }
}

function Strip({
  answer,
  choose,
}: {
  readonly answer: { readonly value: HeapOverviewAnswer | null };
  readonly choose: (filter: string) => void;
}): VNode {
  const found = answer.value;
  if (!found) return <></>;
  const { shallow_bytes: whole, unreachable_bytes: lost, unreachable_objects: lostObjects } = found;
  const parts: Part[] = found.kinds.map((row) => ({ row, filter: `kind:"=${row.name}"` }));
  return (
    <>
      <div class="heap-figure" title={exactBytes(whole)}>
        <strong>{bytes(whole)}</strong>
        <span class="muted"> in {counted(found.objects, 'object')}</span>
      </div>
      {lost > 0 && (
        <Chip
          text={`${share(lost, whole)} unreachable`}
          title={`${exactBytes(lost)} in ${counted(lostObjects, 'object')} that no root reaches`}
          press={() => {
            choose('is:unreachable');
          }}
        />
      )}
      <Parts label="Kinds" parts={parts} whole={whole} choose={choose} />
      {found.spaces.length > 0 && (
        <Parts
          label="Heaps"
          parts={found.spaces.map((row) => ({ row, filter: null }))}
          whole={whole}
          choose={choose}
        />
      )}
      {found.flags.map((row) => (
        <Chip
          key={row.name}
          text={`${row.name} ${bytes(row.shallow_bytes)}`}
          title={`${counted(row.objects, 'object')}, ${exactBytes(row.shallow_bytes)} shallow`}
          press={() => {
            choose(`is:${row.name}`);
          }}
        />
      ))}
    </>
  );
}

interface Part {
  readonly row: ShareRow;
  readonly filter: string | null;
}

function Parts({
  label,
  parts,
  whole,
  choose,
}: {
  readonly label: string;
  readonly parts: readonly Part[];
  readonly whole: number;
  readonly choose: (filter: string) => void;
}): VNode {
  return (
    <ul class="heap-parts" aria-label={label}>
      {parts.slice(0, MOST_PARTS).map(({ row, filter }) => {
        const text = `${row.name} ${share(row.shallow_bytes, whole)}`;
        const title = `${exactBytes(row.shallow_bytes)} shallow in ${counted(row.objects, 'object')}`;
        return (
          <li key={row.name}>
            {filter === null ? (
              <span class="heap-part" title={title}>
                {visible(text)}
              </span>
            ) : (
              <Chip
                text={text}
                title={title}
                press={() => {
                  choose(filter);
                }}
              />
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Chip({
  text,
  title,
  press,
}: {
  readonly text: string;
  readonly title: string;
  readonly press: () => void;
}): VNode {
  return (
    <button type="button" class="link heap-part" title={`${title}. Click to filter`} onClick={press}>
      {visible(text)}
    </button>
  );
}
