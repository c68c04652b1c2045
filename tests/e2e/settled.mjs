// Waits until nothing is pending in a view: what it shows, the layout and the state that VS Code stores are final
// then, until the next action.

/** SQL queries may take any time; the view keeps working meanwhile. */
const MAY_LAST = 'memlens/sql';

/**
 * Waits until a view has the answers to all its requests, has done deferred work, and shows all of it.
 * @param {import('@playwright/test').Frame} frame the inside of the webview
 */
export async function settledIn(frame) {
  // A change of the window's layout reaches the view with the frames of the window.
  await frame.page().evaluate(twoFrames);
  await frame.evaluate(() => {
    window.settling = undefined;
  });
  const settled = frame.waitForFunction(
    (mayLast) => {
      const { names, begun } = window.memlensUnderWay;
      const busy = names.some((name) => name !== mayLast);
      if (busy || document.getElementById('memlens').dataset.state !== 'ready') {
        window.settling = undefined;
        return false;
      }
      if (window.settling?.begun !== begun) {
        const settling = { begun, shown: false };
        window.settling = settling;
        const frameOf = window.requestAnimationFrame;
        // Components run their effects in a task after the next frame.
        frameOf(() => frameOf(() => setTimeout(() => (settling.shown = true))));
        return false;
      }
      return window.settling.shown;
    },
    MAY_LAST,
    { polling: 30 },
  );
  await settled.catch(async (error) => {
    const left = await frame.evaluate(() => JSON.stringify(window.memlensUnderWay)).catch(() => 'no view');
    throw new Error(`The view never settled (${error.message.split('\n')[0]}): ${left}.`);
  });
}

/** Whether a frame shows a view that is open. */
export const isOpen = (frame) =>
  frame.evaluate(
    () =>
      window.memlensUnderWay !== undefined && document.getElementById('memlens')?.dataset.state === 'ready',
  );

/** The palette's commands that each view of a window has received. */
export async function commandsIn(page) {
  const counted = page.frames().map(async (frame) => {
    const commands = await frame.evaluate(() => window.memlensUnderWay?.commands).catch(() => undefined);
    return [frame, commands];
  });
  return new Map((await Promise.all(counted)).filter(([, commands]) => commands !== undefined));
}

const twoFrames = () =>
  new Promise((resolve) => {
    window.requestAnimationFrame(() => window.requestAnimationFrame(resolve));
  });
