// Counts what the user does, by which the host distinguishes a new place from what belongs to an old one.

const MODIFIERS: ReadonlySet<string> = new Set(['Alt', 'AltGraph', 'Control', 'Meta', 'Shift']);

/** Buttons of a mouse: from here on they go back and forward. */
const BACK = 3;

export class Acts {
  count = 0;
  /** Called once, when the user does something next. */
  next: (() => void) | null = null;

  constructor(go: (command: 'back' | 'forward') => void) {
    const act = (): void => this.add();
    const listen = <E extends keyof WindowEventMap>(type: E, run: (event: WindowEventMap[E]) => void): void =>
      window.addEventListener(type, run, { capture: true, passive: false });
    for (const type of ['change', 'input'] as const) listen(type, act);
    window.addEventListener('wheel', act, { capture: true, passive: true });
    listen('pointerdown', ({ button }) => {
      if (button < BACK) act();
    });
    listen('keydown', (event) => {
      // VS Code has a key binding for these; a browser would leave the page
      if (event.altKey && /^Arrow(Left|Right)$/.test(event.key)) event.preventDefault();
      else if (!MODIFIERS.has(event.key)) act();
    });
    for (const type of ['mousedown', 'mouseup'] as const)
      listen(type, (event) => {
        if (event.button < BACK) return;
        event.preventDefault();
        if (type === 'mouseup') go(event.button === BACK ? 'back' : 'forward');
      });
  }

  /** The user has done something. */
  add(): void {
    this.count++;
    const { next } = this;
    this.next = null;
    next?.();
  }
}
