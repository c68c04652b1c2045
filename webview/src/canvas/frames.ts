// Frames when something changed, and how long the scripting of each took.

import { finished, started } from '../base/under-way';

/** How many frame times are kept. */
const KEPT = 1024;

export class FrameLoop {
  /** Milliseconds of scripting, the latest last. */
  readonly times: number[] = [];
  private scheduled = 0;

  constructor(private readonly frame: (now: number) => void) {}

  request(): void {
    if (this.scheduled !== 0) return;
    started(this, 'frame');
    this.scheduled = requestAnimationFrame((now) => {
      this.scheduled = 0;
      finished(this);
      const start = performance.now();
      this.frame(now);
      this.times.push(performance.now() - start);
      if (this.times.length > KEPT) this.times.splice(0, this.times.length - KEPT);
    });
  }

  stop(): void {
    cancelAnimationFrame(this.scheduled);
    this.scheduled = 0;
    finished(this);
  }
}
