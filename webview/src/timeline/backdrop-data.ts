// Asks for what the picture is measured against, once the picture itself is there.

import type { Api } from '../api';
import type { Pending } from '../base/request';
import { Questions } from '../base/latest';
import { floats } from '../base/base64';
import { unpackReserved } from './pictures/reserved-data';
import { NO_BACKDROP, type Backdrop } from './scene/backdrop';
import type { Extent } from '../canvas/camera';
import type { Axis } from '../base/devices';
import { said } from '../base/l10n';

const COLUMNS = 1024;
const MOST_STEPS = 1000;

export class BackdropData {
  private asked = { device: -1, axis: 'event' as Axis };
  private askedWhole = false;
  private known = NO_BACKDROP;
  // the picture is complete without it
  private readonly questions = new Questions(() => undefined);

  constructor(
    private readonly api: Pick<Api, 'request'>,
    private readonly changed: (backdrop: Backdrop) => void,
  ) {}

  /** For a device, an axis and a filter with changes or not; what is known already isn't asked for again. */
  ask(
    device: number,
    axis: Axis,
    { x0, x1 }: Pick<Extent, 'x0' | 'x1'>,
    filter: string,
    changed: boolean,
  ): void {
    if (device !== this.asked.device || axis !== this.asked.axis) {
      this.questions.cancel();
      this.asked = { device, axis };
      this.askedWhole = false;
      this.set(NO_BACKDROP);
      const over = { device, axis, x0, x1, columns: COLUMNS };
      this.learn(this.api.request('memlens/reserved', over), (answer) => {
        const { known, kinds, ...at } = unpackReserved(answer, '');
        const highest = kinds[0]?.highest;
        return { reserved: known && highest ? { x0: at.x0, x1: at.x1, highest } : null };
      });
      this.learn(
        this.api.request('memlens/steps', { device, offset: 0, limit: MOST_STEPS }),
        ({ inferred, rows }) => ({
          inferred,
          steps: rows.flatMap(({ name, start_us: time, from_moment: moment }) => {
            const x = axis === 'time' ? time : moment;
            return x === null ? [] : [{ x, text: said(name) }];
          }),
        }),
      );
    }
    if (changed !== this.known.changed) this.set({ changed });
    if (filter === '') {
      if (this.known.whole) this.set({ whole: null });
      this.askedWhole = false;
    } else if (!this.askedWhole) {
      this.askedWhole = true;
      const request = { device, axis, columns: COLUMNS, filter: '' };
      this.learn(this.api.request('memlens/overview', request), (answer) => ({
        whole: this.askedWhole ? { x0: answer.x0, x1: answer.x1, highest: floats(answer.highest) } : null,
      }));
    }
  }

  dispose(): void {
    this.questions.cancel();
  }

  private learn<T>(pending: Pending<T>, part: (answer: T) => Partial<Backdrop>): void {
    this.questions.ask(pending, (answer) => this.set(part(answer)));
  }

  private set(part: Partial<Backdrop>): void {
    this.known = { ...this.known, ...part };
    this.changed(this.known);
  }
}
