// A question that is asked again and again while something goes on.

export class Polling<T> {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private going = false;

  /** The first time after `pauseMs`, and again so long after each answer; no more after one that fails. */
  constructor(
    private readonly pauseMs: number,
    private readonly ask: () => Promise<T>,
    private readonly use: (answer: T) => void,
  ) {}

  begin(): void {
    this.end();
    this.going = true;
    this.wait();
  }

  end(): void {
    this.going = false;
    clearTimeout(this.timer);
  }

  private wait(): void {
    this.timer = setTimeout(() => {
      const { timer } = this;
      this.ask().then(
        (answer) => {
          // it may have ended, and begun again, since
          if (!this.going || timer !== this.timer) return;
          this.use(answer);
          this.wait();
        },
        () => undefined,
      );
    }, this.pauseMs);
  }
}
