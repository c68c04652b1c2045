// What a view says of the moment: in its line of notes, and to screen readers.

import { batch, signal } from '@preact/signals';
import { isCancelled } from '../base/latest';
import { RequestError } from '../base/request';
import { messageOf, shorten } from '../base/text';

export interface Note {
  readonly text: string;
  /** It says what went wrong, and what to do; null for a bug, of which the log says more. */
  readonly advice: string | null;
  readonly failed: boolean;
}

const LONGEST_TEXT = 2000;
/** Makes a text another one to screen readers, which read out what changes. */
const AGAIN = '\u00a0';
const NOTHING_SAID: Note = { text: '', advice: null, failed: false };

export class Notes {
  readonly note = signal(NOTHING_SAID);
  /** Read out by screen readers. */
  readonly live = signal('');

  say(text: string): void {
    this.note.value = { ...NOTHING_SAID, text: shorten(text, LONGEST_TEXT) };
    this.hear(text);
  }

  /** Read out only, as what it says can be seen; a text that is the last one again is read out again. */
  hear(text: string): void {
    const words = shorten(text, LONGEST_TEXT);
    this.live.value = words !== '' && words === this.live.peek() ? words + AGAIN : words;
  }

  /** What went wrong, as such a note; what was cancelled went as it should. */
  failed(error: unknown): void {
    if (isCancelled(error)) return;
    const bug = error instanceof RequestError && error.problem.code === 'internal' ? error.problem : null;
    batch(() => {
      this.say(messageOf(error));
      this.note.value = { ...this.note.value, failed: true, advice: bug?.advice ?? null };
      if (bug) this.hear(`${bug.message}. ${bug.advice}`);
    });
  }

  /** Takes back what is said to have gone wrong. */
  recovered(): void {
    if (this.note.peek().failed) this.say('');
  }
}
