// A table of keys: what each does, looked up when one is pressed and listed by `?`.

import { t } from '../base/l10n';

export interface KeyRow<A extends string> {
  /** As `KeyboardEvent.key`, with "Shift+", "Alt+" or "Mod+" (Ctrl, or Cmd) before it. */
  readonly keys?: readonly string[];
  readonly action: A;
  /** What the list of keys says of it; empty for one that another row speaks for. */
  readonly text?: string;
}

export type KeyPress = Pick<KeyboardEvent, 'key' | 'shiftKey' | 'altKey' | 'ctrlKey' | 'metaKey'>;

/** Other ways to type a key that is listed already. */
const ALIASES = new Set(['=', '_', 'Shift++', 'Shift+?']);

export class KeyTable<A extends string> {
  private readonly actions: ReadonlyMap<string, A>;

  constructor(
    readonly rows: readonly KeyRow<A>[],
    /** A letter that has no meaning of its own with Shift has the one that it has without. */
    private readonly ignoresShift = false,
  ) {
    this.actions = new Map(
      rows.flatMap(({ keys = [], action }) => keys.map((key) => [key, action] as const)),
    );
  }

  actionOf({ key: pressed, shiftKey, altKey, ctrlKey, metaKey }: KeyPress): A | null {
    // Caps lock should not disable half of the keys; a symbol's own Shift is not asked for twice.
    const key = pressed.length === 1 ? pressed.toLowerCase() : pressed;
    const held = `${ctrlKey || metaKey ? 'Mod+' : ''}${altKey ? 'Alt+' : ''}`;
    const exact = this.actions.get(`${held}${shiftKey ? 'Shift+' : ''}${key}`);
    const isSymbol = pressed.length === 1 && !/[a-z0-9]/i.test(pressed);
    if (exact || !(isSymbol || this.ignoresShift)) return exact ?? null;
    return this.actions.get(`${held}${key}`) ?? null;
  }

  /** The first key that does something; empty for none. */
  keyOf(action: A): string {
    return this.rows.find((row) => row.action === action)?.keys?.[0] ?? '';
  }

  /** The rows of a list of keys. */
  get listed(): readonly ListedKeys[] {
    const isMac = navigator.userAgent.includes('Mac');
    return this.rows
      .filter((row) => row.keys?.length && row.text)
      .map(({ keys = [], text = '' }) => [
        keys.filter((key) => !ALIASES.has(key)).map((key) => keyName(key, isMac)),
        text,
      ]);
  }
}

export type ListedKeys = readonly [keys: readonly string[], text: string];

const SYMBOLS: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: t('Esc'),
  PageUp: t('Page Up'),
  PageDown: t('Page Down'),
};

/** A key as it stands on the keyboard. */
export function keyName(key: string, mac: boolean): string {
  const parts = key === 'Shift++' ? ['Shift', '+'] : key.length === 1 ? [key] : key.split('+');
  const names: Record<string, string> = { Mod: mac ? '⌘' : 'Ctrl', Alt: mac ? '⌥' : 'Alt' };
  return parts
    .map((part) => names[part] ?? SYMBOLS[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(' ');
}
