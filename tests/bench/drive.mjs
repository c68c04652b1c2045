/* global window, document, PointerEvent, WheelEvent, requestAnimationFrame -- in a function that runs in the page */
// Shared by the benchmarks of a view in a browser: panning and zooming, and statistics of times.

/**
 * In the page: turns the wheel once per frame, zooming in, panning and zooming out, with the pointer over the picture.
 * From one frame's number up to another. Returns the intervals between frames and, if the page has the tests' hook, the scripting time of each; in ms.
 */
export async function drive([first, end]) {
  const surface = document.querySelector('.plot-surface');
  const box = surface.getBoundingClientRect();
  const times = window.memlensTest?.frameTimes ?? [];
  const scripting = [];
  const intervals = [];
  let last = 0;
  for (let i = first; i < end; i++) {
    const at = {
      bubbles: true,
      cancelable: true,
      clientX: box.left + box.width * (0.5 + 0.3 * Math.sin(i / 40)),
      clientY: box.top + box.height * 0.5,
    };
    surface.dispatchEvent(new PointerEvent('pointermove', at));
    const phase = i % 90;
    const turn =
      phase < 30 ? { deltaY: -60 } : phase < 60 ? { deltaX: 25 * (i % 180 < 90 ? 1 : -1) } : { deltaY: 60 };
    surface.dispatchEvent(new WheelEvent('wheel', { ...at, ...turn }));
    const now = await new Promise((resolve) => {
      requestAnimationFrame((time) => {
        setTimeout(resolve, 0, time);
      });
    });
    if (times.length > 0) scripting.push(times[times.length - 1]);
    if (last > 0) intervals.push(now - last);
    last = now;
  }
  return { scripting, intervals };
}

/** A quantile of some times, rounded; 0 without any. */
export function at(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
}

export function round(value) {
  return Math.round(value * 100) / 100;
}
