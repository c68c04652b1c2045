// What a snapshot says about itself: its headline and its findings, which are asked for when a picture is there.

import { signal, type ReadonlySignal } from '@preact/signals';
import type { HeadlineAnswer, FileWarning, SnapshotFinding } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { saidWithoutContents } from '../base/l10n';
import { Questions } from '../base/latest';
import { Polling } from '../base/polling';

const MOST_FINDINGS = 20;
const POLL_MS = 200;

/** How far the search for findings is, from 0 to 1, or that there was none. */
export type Looking = { readonly fraction: number } | 'ended';

export class Summary {
  private readonly headlineSignal = signal<HeadlineAnswer | null>(null);
  private readonly findingsSignal = signal<readonly SnapshotFinding[] | null>(null);
  private readonly warningsSignal = signal<readonly FileWarning[]>([]);
  /** Of a large heap dump, whose findings take a while the first time; null while there is nothing to say. */
  readonly looking = signal<Looking | null>(null);
  /** What the snapshot and another one come to, which is said in place of its own headline; null where none is compared. */
  readonly compared = signal<HeadlineAnswer | null>(null);
  private device: number | null = null;
  private readonly questions: Questions;
  private readonly watch = new Polling(
    POLL_MS,
    () => this.api.request('memlens/findingsState', {}).answer,
    ({ fraction }) => {
      if (fraction !== null) this.looking.value = { fraction };
    },
  );
  private asked = false;

  constructor(
    private readonly api: Pick<Api, 'request'>,
    warnings: readonly FileWarning[],
    failed: (error: unknown) => void,
  ) {
    this.questions = new Questions((error) => {
      this.end(this.looking.value === null ? null : 'ended');
      failed(error);
    });
    this.warningsSignal.value = warnings;
  }

  get headline(): ReadonlySignal<HeadlineAnswer | null> {
    return this.headlineSignal;
  }

  /** Null until they are known. */
  get findings(): ReadonlySignal<readonly SnapshotFinding[] | null> {
    return this.findingsSignal;
  }

  get warnings(): ReadonlySignal<readonly FileWarning[]> {
    return this.warningsSignal;
  }

  /** The headline and the findings as plain text without contents of strings; empty until they are known. */
  get text(): string {
    const compared = this.compared.value;
    if (compared) return compared.sentences.map(saidWithoutContents).join(' ');
    const headline = this.headlineSignal.value?.sentences ?? [];
    const findings = this.findingsSignal.value ?? [];
    const lines = findings.map(({ sentence }) => `- ${saidWithoutContents(sentence)}`);
    return [headline.map(saidWithoutContents).join(' '), ...lines].filter((line) => line !== '').join('\n');
  }

  /** Of a trace's device, or of a profile. */
  turnTo(device: number | null): void {
    this.drop();
    this.device = device;
    this.asked = false;
    this.headlineSignal.value = null;
    this.findingsSignal.value = null;
  }

  /** The picture is there, which is not to wait for the rules: the first time they look at the whole snapshot. */
  find(): void {
    if (this.asked) return;
    this.asked = true;
    const { device } = this;
    this.questions.ask(this.api.request('memlens/headline', { device }), (answer) => {
      this.headlineSignal.value = answer;
      this.warningsSignal.value = answer.warnings;
    });
    const params = { device, limit: MOST_FINDINGS };
    this.questions.ask(this.api.request('memlens/findings', params), ({ findings }) => {
      this.findingsSignal.value = findings;
      this.end(null);
    });
    this.watch.begin();
  }

  /** Ends the search, which another one begins anew. */
  readonly stop = (): void => {
    this.questions.cancel();
    this.end('ended');
  };

  readonly findAgain = (): void => {
    this.asked = false;
    this.looking.value = { fraction: 0 };
    this.find();
  };

  /** One of the findings as Markdown, by its place among them. */
  takeMarkdown(number: number, take: (text: string) => void): void {
    const { device } = this;
    this.questions.ask(this.api.request('memlens/findingMarkdown', { device, number }), ({ text }) =>
      take(text),
    );
  }

  drop(): void {
    this.questions.cancel();
    this.end(null);
  }

  private end(looking: Looking | null): void {
    this.watch.end();
    this.looking.value = looking;
  }
}
