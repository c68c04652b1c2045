// Where the view's parts stand, the sizes that the user gave them, and the line of what is said below them.

import { effect, signal, untracked } from '@preact/signals';
import { createRef, render, type ComponentType, type VNode } from 'preact';
import { t } from '../base/l10n';
import { Splitter } from '../widgets/splitter';
import type { Dock } from './dock';
import type { Layout } from '../base/saved';
import type { Session } from './session';

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

const LEAST_PANEL = 220;
const LEAST_DOCK = 120;
const LEAST_PLOT = 160;

/** What of a view it follows and changes. */
type FrameSession = Pick<
  Session,
  'pane' | 'layout' | 'notes' | 'api' | 'arrange' | 'isStacked' | 'whileShown'
>;

export class ViewFrame {
  /** Figures of what is shown. */
  readonly status = signal('');
  /** Whether the picture has more than the screen can show. */
  readonly coarser = signal(false);
  readonly busy = signal(false);
  private readonly root = createRef<HTMLDivElement>();
  private readonly columns = createRef<HTMLDivElement>();
  /** What is drawn. */
  private shown: Layout | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly session: FrameSession,
    private readonly parts: FrameParts,
  ) {
    host.replaceChildren();
    session.isStacked = () => {
      const { current } = this.columns;
      return current !== null && getComputedStyle(current).flexDirection === 'column';
    };
    session.whileShown(effect(() => this.follow(session.pane.value !== null, session.layout.value)));
    session.whileShown(() => {
      render(null, host);
    });
  }

  /** Arranges the parts at once, as what is in them goes by the room that they have. Each leaves room for the others. */
  private follow(dockOpen: boolean, layout: Layout): void {
    const isOther = this.shown !== null && layout !== this.shown;
    untracked(() => {
      if (isOther) this.session.arrange(this.fitted(layout));
      this.shown = this.session.layout.value;
      this.draw(dockOpen, this.shown);
    });
  }

  private fitted(layout: Layout): Layout {
    const { clientWidth = 0, clientHeight = 0 } = this.root.current ?? {};
    const panelMost = Math.max(clientWidth - LEAST_PLOT, LEAST_PANEL);
    const dockMost = Math.max(clientHeight - LEAST_PLOT - 140, LEAST_DOCK);
    return {
      ...layout,
      panelWidth: Math.round(Math.min(Math.max(layout.panelWidth, LEAST_PANEL), panelMost)),
      dockHeight: Math.round(Math.min(Math.max(layout.dockHeight, LEAST_DOCK), dockMost)),
    };
  }

  private draw(dockOpen: boolean, { panelOpen, panelWidth, dockHeight, dockTall }: Layout): void {
    const tall = dockOpen && dockTall;
    const { dock, Panel } = this.parts;
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
              resize={(height) => this.session.arrange({ dockHeight: height })}
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
                resize={(width) => this.session.arrange({ panelWidth: width })}
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
          {this.session.notes.live}
        </div>
        {Tooltip && <Tooltip />}
        <Help />
      </>
    );
  };

  private readonly Status = (): VNode => {
    const { Legend } = this.parts;
    const { text, advice, failed } = this.session.notes.note.value;
    return (
      <footer class="status">
        <div class="status-text">{this.status}</div>
        <div class={failed ? 'status-note error' : 'status-note'} title={advice ?? ''}>
          {text}
          {advice !== null && (
            <button type="button" class="link" onClick={() => this.session.api.post({ type: 'showLog' })}>
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
