// Small snapshots for the tests, as torch.cuda.memory._snapshot() gives them, written as JSON.

const frames = (line) => [
  { name: 'forward', filename: 'model.py', line },
  { name: 'main', filename: 'train.py', line: 84 },
];

/** A device's trace: so many steps of a large and a small allocation that lie over each other. */
function trace(steps, bytes) {
  const events = [];
  let time = 1_700_000_000_000_000;
  const add = (action, addr, size, line) => {
    time += 1000;
    events.push({ action, addr, size, stream: 0, time_us: time, frames: frames(line) });
  };
  for (let step = 0; step < steps; step++) {
    const at = 0x7f0000000000 + step * 0x10000000;
    add('alloc', at, bytes * (1 + (step % 5)), 20 + (step % 7));
    add('alloc', at + 0x8000000, bytes / 2, 40 + (step % 3));
    if (step >= 8) {
      const old = at - 8 * 0x10000000;
      add('free_requested', old, bytes * (1 + ((step - 8) % 5)), 0);
      add('free_completed', old, bytes * (1 + ((step - 8) % 5)), 0);
    }
  }
  return events;
}

/** Two devices; the second one has the taller stack. */
export const twoDevices = () =>
  JSON.stringify({ segments: [], device_traces: [trace(60, 1 << 20), trace(90, 1 << 22)] });

/** Allocations that all stay, one for each stack of [file, line, function] innermost first; each larger than the next. */
export function kept(stacks) {
  const events = stacks.map((stack, i) => ({
    action: 'alloc',
    addr: 0x7f0000000000 + i * 0x10000000,
    size: (stacks.length - i + 2) << 20,
    stream: 0,
    time_us: 1_700_000_000_000_000 + i * 1000,
    frames: stack.map(([filename, line, name]) => ({ filename, line, name })),
  }));
  return JSON.stringify({ segments: [], device_traces: [events] });
}
