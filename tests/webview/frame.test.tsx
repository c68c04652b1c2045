// What parts of a view stand in: the frame with its bars and its line of notes, and what pictures drawn by hand stand on.

import { drawn, mounted, press } from './support/dom';
import { BareSession } from './support/session';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { FromWebviewMessage } from '../../extension/shared/messages';
import { RequestError } from '../../webview/src/base/request';
import { Dock } from '../../webview/src/shell/dock';
import { ViewFrame, type PanelRoom } from '../../webview/src/shell/frame';
import { Chart, pointIn } from '../../webview/src/widgets/chart';
import { element } from '../../webview/src/widgets/dom';
import { HoverCard } from '../../webview/src/widgets/hover-card';
import { Minimap } from '../../webview/src/timeline/minimap';
import { Splitter } from '../../webview/src/widgets/splitter';

afterEach(() => {
  document.body.replaceChildren();
});

const never = (): never => assert.fail();

function one(within: ParentNode, selector: string): HTMLElement {
  const found = within.querySelector<HTMLElement>(selector);
  assert.ok(found, `${selector} is there`);
  return found;
}

/** A frame with nothing in it, and what was asked of the host. */
function framed(): { session: BareSession; host: HTMLElement; posted: FromWebviewMessage[] } {
  const host = element('div');
  document.body.append(host);
  const posted: FromWebviewMessage[] = [];
  const session = new BareSession(posted);
  new ViewFrame(host, session, {
    Head: () => <div class="head" />,
    Files: () => <></>,
    pictures: [() => <div class="first" />, () => <div class="second" />],
    Panel: ({ hidden, style }: PanelRoom) => <aside hidden={hidden} style={style} />,
    Help: () => <dialog />,
    dock: new Dock(session, [], never),
  });
  return { session, host, posted };
}

test('parts are arranged at once: the panel below, all of the room for it, and the details', () => {
  const { session, host } = framed();
  const hidden = (selector: string): boolean => one(host, selector).hasAttribute('hidden');
  const arranged = (): boolean[] => ['.dock', '.picture', 'aside'].map(hidden);
  assert.deepEqual(arranged(), [true, false, true], 'nothing is open at first');
  session.pane.value = 'sql';
  assert.deepEqual(arranged(), [false, false, true]);
  assert.equal(one(host, '.dock').style.height, '300px');
  session.arrange({ dockTall: true });
  assert.deepEqual(arranged(), [false, true, true]);
  assert.equal(one(host, '.dock').style.height, '');
  assert.ok(one(host, '.splitter.horizontal').hidden);
  session.arrange({ dockTall: false, panelOpen: true });
  assert.deepEqual(arranged(), [false, false, false]);
  const pictures = [...host.querySelectorAll('.plot-area > :not(.busy)')].map(({ className }) => className);
  assert.deepEqual(pictures, ['first', 'second']);
  session.dispose();
  assert.equal(host.childElementCount, 0);
});

test('bars between parts are moved by arrows, and never beyond what a part needs', () => {
  const { session, host } = framed();
  session.pane.value = 'sql';
  const bar = one(host, '.splitter.horizontal');
  assert.equal(bar.getAttribute('aria-valuenow'), '300');
  press(bar, 'ArrowDown');
  // without a layout there is no room at all, so that the least is the most
  assert.equal(session.layout.value.dockHeight, 120);
  assert.equal(bar.getAttribute('aria-valuenow'), '120', 'the bar is the same and says where it is');
  const { value } = session.layout;
  press(bar, 'ArrowLeft');
  assert.equal(session.layout.value, value, 'that is a key of the other bar');
});

test('a bar is dragged from where it was taken', () => {
  const sizes: number[] = [];
  const host = mounted(
    <Splitter
      label="Width"
      direction="vertical"
      hidden={false}
      size={200}
      resize={(size) => sizes.push(size)}
    />,
  );
  const bar = one(host, '.splitter');
  bar.setPointerCapture = () => undefined;
  const pointer = (type: string, clientX: number): void => {
    bar.dispatchEvent(new PointerEvent(type, { clientX, pointerId: 1, bubbles: true, cancelable: true }));
  };
  pointer('pointermove', 40);
  pointer('pointerdown', 100);
  pointer('pointermove', 90);
  pointer('pointermove', 130);
  pointer('lostpointercapture', 130);
  pointer('pointermove', 10);
  assert.deepEqual(sizes, [210, 170]);
});

test('a note says what went wrong; of a bug it leads to the log, and what is said next takes its place', async () => {
  const { session, host, posted } = framed();
  const note = (): HTMLElement => one(host, '.status-note');
  session.say('Copied');
  await drawn();
  assert.equal(note().textContent, 'Copied');
  const problem = { code: 'internal', message: 'A bug', advice: 'Report it', offset: null, retry: false };
  session.failed(new RequestError({ ...problem, code: 'cancelled' }));
  await drawn();
  assert.equal(note().textContent, 'Copied', 'what was cancelled went as it should');
  session.failed(new RequestError(problem));
  await drawn();
  assert.ok(note().classList.contains('error') && note().textContent.startsWith('A bug'));
  assert.equal(note().title, 'Report it');
  assert.equal(one(host, '[aria-live]').textContent, 'A bug. Report it');
  note().querySelector('button')?.click();
  assert.deepEqual(posted, [{ type: 'showLog' }]);
  session.notes.recovered();
  await drawn();
  assert.equal(note().textContent, '');
  assert.ok(!note().classList.contains('error'));
  session.failed(new Error('No such line'));
  await drawn();
  assert.equal(note().querySelector('button'), null, 'the log has no more of it');
});

test('a picture is one element with a name, its canvases unseen by screen readers, drawn once for many requests', async () => {
  let frames = 0;
  const chart = new Chart({
    ...{ class: 'boxes', role: 'application', label: 'Boxes', layers: 2 },
    Over: () => <p>Nothing</p>,
    draw: () => {
      frames++;
    },
  });
  document.body.append(chart.surface);
  assert.deepEqual(
    [...chart.surface.children].map((each) => [each.tagName, each.getAttribute('aria-hidden')]),
    [
      ['CANVAS', 'true'],
      ['CANVAS', 'true'],
      ['P', null],
    ],
  );
  assert.deepEqual([chart.surface.tabIndex, chart.surface.getAttribute('aria-label')], [0, 'Boxes']);
  assert.equal(chart.begin(), null, 'there is no room to draw in');
  await drawn();
  const before = frames;
  for (let i = 0; i < 3; i++) chart.request();
  await drawn();
  assert.equal(frames, before + 1);
  chart.request();
  chart.dispose();
  await drawn();
  assert.equal(frames, before + 1, 'what is gone is not drawn');
  const strip = new Chart({ class: 'strip', draw: never });
  strip.dispose();
  assert.deepEqual([strip.surface.tabIndex, strip.surface.getAttribute('role')], [-1, null]);
});

test('a card stands beside a point of the picture, in what has room for it', () => {
  const [room, surface] = [element('div'), element('div')];
  room.append(surface);
  document.body.append(room);
  const at = (left: number, top: number): DOMRect => ({ left, top }) as DOMRect;
  surface.getBoundingClientRect = () => at(100, 50);
  room.getBoundingClientRect = () => at(40, 20);
  const card = new HoverCard(({ text }: { readonly text: string }) => <b>{text}</b>, room);
  Object.defineProperty(card.root, 'offsetParent', { value: room });
  for (const [name, value] of Object.entries({ clientWidth: 500, clientHeight: 300 }))
    Object.defineProperty(room, name, { value });
  assert.ok(!card.shown);
  card.show({ text: 'Here' }, { x: 10, y: 10 }, surface);
  assert.ok(card.shown);
  assert.equal(card.root.textContent, 'Here');
  assert.equal(card.root.style.transform, 'translate(86px, 54px)');
  const event = new MouseEvent('pointermove', { clientX: 130, clientY: 60 });
  assert.deepEqual(pointIn(surface, event), { x: 30, y: 10 });
});

test('the strip of the run shows which part of it is in view', async () => {
  const minimap = new Minimap(never);
  const host = mounted(<minimap.View />);
  Object.defineProperty(one(host, '.minimap-strip'), 'clientWidth', { value: 1000 });
  const extent = { x0: 0, x1: 100, top: 1, minWidth: 1, minHeight: 1 };
  const shown = async (x0: number, x1: number): Promise<(string | undefined)[]> => {
    minimap.setCamera({ x0, x1, y0: 0, y1: 1 }, extent);
    await drawn();
    const { style, className } = one(host, '.minimap-window');
    return [className, style.transform, style.width];
  };
  assert.deepEqual(await shown(0, 100), ['minimap-window whole', 'translateX(0px)', '1000px']);
  assert.deepEqual(await shown(25, 75), ['minimap-window', 'translateX(250px)', '500px']);
  // so narrow that it couldn't be held
  assert.deepEqual(await shown(50, 50.1), ['minimap-window narrow', 'translateX(496.5px)', '8px']);
  const shades = [...host.querySelectorAll<HTMLElement>('.minimap-shade')].map(({ style }) => style.width);
  assert.deepEqual(shades, ['496.5px', '495.5px']);
  minimap.hidden.value = true;
  await drawn();
  assert.ok(one(host, '.minimap').hidden);
  minimap.dispose();
});
