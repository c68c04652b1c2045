// Where the view's parts stand, the sizes that the user gave them, and the line of what is said below them.

import { batch, signal } from '@preact/signals';
import { createRef, render, type ComponentType, type VNode } from 'preact';
import { RequestError } from '../base/request';
import { t } from '../base/l10n';
import { isCancelled } from '../base/latest';
import { messageOf, shorten } from '../base/text';
import { Splitter } from '../widgets/splitter';
import type { Dock } from './dock';
import type { Layout } from '../base/saved';

/** The room of what stands at the side. */
export interface PanelRoom {
  readonly hidden: boolean;
  readonly style: Readonly<Record<string, string>>;
}

export interface FrameParts {
  /** The summary and the toolbar. */
  readonly Head: ComponentType;
  /** What became of the file on disk. */
  readonly Files: ComponentType;
  /** The whole run in a strip. */
  readonly Minimap?: ComponentType;
  /** Above every picture, over the same part of the run. */
  readonly Lanes?: ComponentType | undefined;
  /** One of them is shown. */
  readonly pictures: readonly ComponentType[];
  /** They are no pictures over time, whose axes need room. */
  readonly flat?: boolean;
  /** Below the picture that it belongs to. */
  readonly Areas?: ComponentType;
  readonly dock: Dock;
  readonly Panel?: ComponentType<PanelRoom>;
  /** Below everything: the names of colours. */
  readonly Legend?: ComponentType;
  /** Over everything. */
  readonly Tooltip?: ComponentType;
  readonly Help: ComponentType;
}

interface Note {
  readonly text: string;
  /** It says what went wrong, and what to do; null for a bug, of which the log says more. */
  readonly advice: string | null;
  readonly failed: boolean;
}

const LEAST_PANEL = 220;
const LEAST_DOCK = 120;
const LEAST_PLOT = 160;
const LONGEST_TEXT = 2000;
const NOTHING_SAID: Note = { text: '', advice: null, failed: false };

export class ViewFrame {
  /** Figures of what is shown. */
  readonly status = signal('');
  /** Whether the picture has more than the screen can show. */
  readonly coarser = signal(false);
  readonly busy = signal(false);
  private readonly note = signal(NOTHING_SAID);
  /** Read out by screen readers. */
  private readonly live = signal('');
  private readonly root = createRef<HTMLDivElement>();
  private readonly columns = createRef<HTMLDivElement>();
  private dockOpen = false;

  constructor(
    private readonly host: HTMLElement,
    private readonly parts: FrameParts,
    private layout: Layout,
    private readonly changed: (layout: Layout) => void,
    private readonly showLog: () => void,
  ) {
    host.replaceChildren();
    this.draw();
  }

  /** A note of the moment, which screen readers read out. */
  say(text: string): void {
    this.note.value = { ...NOTHING_SAID, text: shorten(text, LONGEST_TEXT) };
    this.live.value = shorten(text, LONGEST_TEXT);
  }

  /** What went wrong, as such a note; what was cancelled went as it should. */
  failed(error: unknown): void {
    if (isCancelled(error)) return;
    const bug = error instanceof RequestError && error.problem.code === 'internal' ? error.problem : null;
    batch(() => {
      this.say(messageOf(error));
      this.note.value = { ...this.note.value, failed: true, advice: bug?.advice ?? null };
      if (bug) this.live.value = shorten(`${bug.message}. ${bug.advice}`, LONGEST_TEXT);
    });
  }

  /** Takes back what is said to have gone wrong. */
  recovered(): void {
    if (this.note.peek().failed) this.say('');
  }

  /** Whether the details are below all else, as in a narrow window. */
  get isStacked(): boolean {
    const { current } = this.columns;
    return current !== null && getComputedStyle(current).flexDirection === 'column';
  }

  get current(): Layout {
    return this.layout;
  }

  set(change: Partial<Layout>): void {
    const { clientWidth = 0, clientHeight = 0 } = this.root.current ?? {};
    const panelMost = Math.max(clientWidth - LEAST_PLOT, LEAST_PANEL);
    const dockMost = Math.max(clientHeight - LEAST_PLOT - 140, LEAST_DOCK);
    const next = { ...this.layout, ...change };
    this.layout = {
      ...next,
      panelWidth: Math.round(Math.min(Math.max(next.panelWidth, LEAST_PANEL), panelMost)),
      dockHeight: Math.round(Math.min(Math.max(next.dockHeight, LEAST_DOCK), dockMost)),
    };
    this.changed(this.layout);
  }

  /** Arranges the parts, at once: what is in them goes by the room that they have. */
  apply(dockOpen: boolean): void {
    this.dockOpen = dockOpen;
    this.draw();
  }

  dispose(): void {
    render(null, this.host);
  }

  private draw(): void {
    const { dockOpen, layout, parts } = this;
    const { panelOpen, panelWidth, dockHeight, dockTall } = layout;
    const tall = dockOpen && dockTall;
    const { dock, Panel } = parts;
    render(
      <div class="view" ref={this.root}>
        <this.Head />
        <div class="columns" ref={this.columns}>
          <div class="middle">
            <div class="picture" hidden={tall}>
              <this.Over />
            </div>
            <Splitter
              label={t('Height of the panel')}
              direction="horizontal"
              hidden={!dockOpen || tall}
              size={dockHeight}
              resize={(height) => this.set({ dockHeight: height })}
            />
            <dock.View hidden={!dockOpen} tall={tall} height={dockHeight} />
          </div>
          {Panel && (
            <>
              <Splitter
                label={t('Width of the details')}
                direction="vertical"
                hidden={!panelOpen}
                size={panelWidth}
                resize={(width) => this.set({ panelWidth: width })}
              />
              <Panel hidden={!panelOpen} style={{ '--panel-width': `${panelWidth}px` }} />
            </>
          )}
        </div>
        <this.Foot />
      </div>,
      this.host,
    );
  }

  private readonly Head = (): VNode => {
    const { Head, Files } = this.parts;
    return (
      <>
        <Head />
        <Files />
      </>
    );
  };

  /** The picture with what belongs to it. */
  private readonly Over = (): VNode => {
    const { Minimap, Lanes, Areas, pictures, flat } = this.parts;
    return (
      <>
        {Minimap && <Minimap />}
        <div class="lanes-slot">{Lanes && <Lanes />}</div>
        <div class={flat ? 'plot-area profile-picture' : 'plot-area'}>
          <this.Busy />
          {pictures.map((Picture, at) => (
            <Picture key={at} />
          ))}
        </div>
        {Areas && <Areas />}
      </>
    );
  };

  private readonly Busy = (): VNode => <div class="busy" hidden={!this.busy.value} />;

  private readonly Foot = (): VNode => {
    const { Tooltip, Help } = this.parts;
    return (
      <>
        <this.Status />
        <div class="sr-only" role="status" aria-live="polite">
          {this.live}
        </div>
        {Tooltip && <Tooltip />}
        <Help />
      </>
    );
  };

  private readonly Status = (): VNode => {
    const { Legend } = this.parts;
    const { text, advice, failed } = this.note.value;
    return (
      <footer class="status">
        <div class="status-text">{this.status}</div>
        <div class={failed ? 'status-note error' : 'status-note'} title={advice ?? ''}>
          {text}
          {advice !== null && (
            <button type="button" class="link" onClick={this.showLog}>
              {t('Show Log')}
            </button>
          )}
        </div>
        <div
          class="status-coarser"
          hidden={!this.coarser.value}
          title={t('This part has more than the screen can show')}
        >
          {t('Small allocations merged')}
        </div>
        <div class="legend-slot">{Legend && <Legend />}</div>
      </footer>
    );
  };
}
