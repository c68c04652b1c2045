// Small snapshots for the tests, as torch.cuda.memory._snapshot() returns them, written as JSON.

const frames = (line) => [
  { name: 'forward', filename: 'model.py', line },
  { name: 'main', filename: 'train.py', line: 84 },
];

/** A device's trace with that many steps, each with a large and a small allocation stacked on each other. */
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

/** Two devices; the second one has the higher peak. */
export const twoDevices = () =>
  JSON.stringify({ segments: [], device_traces: [trace(60, 1 << 20), trace(90, 1 << 22)] });

/** Allocations that are never freed, each larger than the next: one per stack of [file, line, function], innermost first. */
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

const MIB = 1 << 20;
const PINNED_MIB = 3;

/**
 * Two devices that run out of memory. A request to device 0 is larger than its memory. On device 1 four segments of
 * 40 MiB are free except for 3 MiB each, so a request of 60 MiB doesn't fit; later it does.
 */
export function outOfMemory() {
  let time = 1_700_000_000_000_000;
  const event = (action, addr, mib, line, more = {}) => {
    time += 1000;
    return { action, addr, size: mib * MIB, stream: 0, time_us: time, frames: frames(line), ...more };
  };
  const oom = (mib, freeMib, line) => {
    const made = { ...event('oom', 0, mib, line), device_free: freeMib * MIB };
    delete made.addr; // as PyTorch leaves it out
    return made;
  };
  const freed = (addr, mib) => [event('free_requested', addr, mib, 0), event('free_completed', addr, mib, 0)];
  const zero = [
    event('segment_alloc', 0x10000000, 40, 30),
    event('alloc', 0x10000000, 39, 30),
    oom(4096, 24, 31),
    event('snapshot', 0, 40, 0),
  ];
  const one = [];
  const segments = [];
  for (let n = 0; n < 4; n++) {
    const at = 0x700000000 + n * 64 * MIB;
    one.push(
      event('segment_alloc', at, 40, 22),
      event('alloc', at, PINNED_MIB, n < 2 ? 43 : 46),
      event('alloc', at + PINNED_MIB * MIB, 40 - PINNED_MIB, 22),
    );
  }
  for (let n = 0; n < 4; n++)
    one.push(...freed(0x700000000 + n * 64 * MIB + PINNED_MIB * MIB, 40 - PINNED_MIB));
  one.push(oom(60, 10, 24));
  for (const n of [0, 1]) {
    const at = 0x700000000 + n * 64 * MIB;
    one.push(...freed(at, PINNED_MIB), event('segment_free', at, 40, 0));
  }
  one.push(event('segment_alloc', 0x900000000, 60, 24), event('alloc', 0x900000000, 60, 24));
  const segment = (device, address, total, used) => ({
    ...{ device, address, total_size: total * MIB, stream: 0, segment_type: 'large' },
    ...{ segment_pool_id: [0, 0], is_expandable: false, frames: [] },
    blocks: [
      { address, size: used * MIB, requested_size: used * MIB, state: 'active_allocated', frames: [] },
      ...(used < total
        ? [
            {
              address: address + used * MIB,
              size: (total - used) * MIB,
              requested_size: 0,
              state: 'inactive',
            },
          ]
        : []),
    ],
  });
  segments.push(segment(0, 0x10000000, 40, 39), segment(1, 0x900000000, 60, 60));
  for (const n of [2, 3]) segments.push(segment(1, 0x700000000 + n * 64 * MIB, 40, PINNED_MIB));
  return JSON.stringify({
    segments,
    device_traces: [zero, one],
    allocator_settings: { expandable_segments: false },
  });
}

/** A device with room for 100 MiB ran out of it: lines 22 and 43 hold 40 MiB each when line 24 asks for 40 more. */
export function tooTight() {
  const oom = { action: 'oom', size: 40 * MIB, stream: 0, frames: frames(24), device_free: 20 * MIB };
  return held({ 22: 40, 43: 40 }, [oom]);
}

/** A run with a batch of that size: line 22 holds the same for each, 43 in proportion to it, 46 with its square. */
export const batchOf = (size) => held({ 22: 40, 43: 10 * size, 46: size * size }, []);

/** What lines hold in mebibytes, each in a segment of its own, so that the trace can be replayed to the byte. */
function held(mebibytes, after) {
  let time = 1_700_000_000_000_000;
  const segments = [];
  const events = Object.entries(mebibytes).flatMap(([line, mib], n) => {
    const address = 0x700000000 + n * 256 * MIB;
    const size = mib * MIB;
    const state = 'active_allocated';
    segments.push({
      ...{ device: 0, address, total_size: size, stream: 0, segment_type: 'large' },
      ...{ segment_pool_id: [0, 0], is_expandable: false, frames: [] },
      blocks: [{ address, size, requested_size: size, state, frames: [] }],
    });
    return ['segment_alloc', 'alloc'].map((action) => ({
      ...{ action, addr: address, size, stream: 0, frames: frames(Number(line)) },
    }));
  });
  return JSON.stringify({
    segments,
    device_traces: [[...events, ...after].map((each) => ({ ...each, time_us: (time += 1000) }))],
    allocator_settings: { expandable_segments: false },
  });
}

/** Three steps of the profiler, each with an optimizer's step in it, and the compiler's timing of itself as noise. */
export function annotated() {
  const events = trace(60, 1 << 20);
  const first = events[0].time_us;
  const note = (name, from, to) => [
    { stage: 'START', name, device: 0, time_us: first + from },
    { stage: 'END', name, device: 0, time_us: first + to },
  ];
  const annotations = [0, 1, 2].flatMap((step) => [
    ...note(`ProfilerStep#${step}`, step * 60_000, step * 60_000 + 59_000),
    ...note('Optimizer.step#AdamW.step', step * 60_000 + 40_000, step * 60_000 + 58_000),
  ]);
  annotations.push(...note('compile (dynamo_timed)', 1000, 9000));
  return JSON.stringify({ segments: [], device_traces: [events], external_annotations: annotations });
}

/**
 * A device with segments: two in the default pool, of which one is given back, one of a private pool on another
 * stream, blocks larger than what was asked for, and a free that is not complete at the end.
 */
export function segmented() {
  const MIB = 1 << 20;
  const [large, small, own] = [0x7f0000000000, 0x7f0010000000, 0x7f0020000000];
  const events = [];
  let time = 1_700_000_000_000_000;
  const add = (action, addr, size, line, more = {}) => {
    time += 1000;
    events.push({
      ...{ action, addr, size, stream: 0, time_us: time, pool_id: [0, 0], frames: frames(line) },
      ...more,
    });
  };
  const apart = { stream: 7, pool_id: [0, 1] };
  add('segment_alloc', large, 20 * MIB, 21);
  add('alloc', large, 6 * MIB, 21);
  add('alloc', large + 6 * MIB, 3 * MIB - 300_000, 22);
  add('segment_alloc', own, 40 * MIB, 23, apart);
  add('alloc', own, 30 * MIB, 23, apart);
  add('segment_alloc', small, 2 * MIB, 24);
  for (let i = 0; i < 12; i++) add('alloc', small + i * 65536, 60_000, 24);
  for (let i = 0; i < 12; i++) {
    add('free_requested', small + i * 65536, 60_000, 25);
    add('free_completed', small + i * 65536, 60_000, 25);
  }
  add('segment_free', small, 2 * MIB, 25);
  add('alloc', large + 12 * MIB, 8 * MIB, 26);
  add('free_requested', large, 6 * MIB, 27);
  const block = (address, size, requested_size, state) => ({
    ...{ address, size, requested_size, state, frames: [] },
  });
  const segment = (address, total_size, stream, segment_pool_id, blocks) => ({
    ...{ device: 0, address, total_size, stream, segment_pool_id, segment_type: 'large' },
    ...{ is_expandable: false, frames: [], blocks },
  });
  const segments = [
    segment(
      large,
      20 * MIB,
      0,
      [0, 0],
      [
        block(large, 6 * MIB, 6 * MIB, 'active_pending_free'),
        block(large + 6 * MIB, 3 * MIB, 3 * MIB - 300_000, 'active_allocated'),
        block(large + 9 * MIB, 3 * MIB, 0, 'inactive'),
        block(large + 12 * MIB, 8 * MIB, 8 * MIB, 'active_allocated'),
      ],
    ),
    segment(
      own,
      40 * MIB,
      7,
      [0, 1],
      [block(own, 30 * MIB, 30 * MIB, 'active_allocated'), block(own + 30 * MIB, 10 * MIB, 0, 'inactive')],
    ),
  ];
  return JSON.stringify({ segments, device_traces: [events] });
}

/** What would be more than text if a name were taken for HTML, or for Markdown as VS Code's hovers have it. */
export const MARKUP = '<evil-tag><img src=x onerror="window.ran=1"><script>window.ran=1</script>';
export const LINK = '[quit](command:workbench.action.quit)';
/** A name with both, with control characters, and with those that change the direction of text. */
export const HOSTILE = `${MARKUP}${LINK}\u001b[31mred\u001b]0;title\u0007\u202egnp\u2066\u0000end`;
/** A file may have any name without slashes and NUL. */
export const HOSTILE_FILE = '<evil-tag><img src=x onerror=alert(1)>[quit](command:quit)\u202eyp.py';

/**
 * A run of three steps that runs out of memory, in which every name that a file may hold is `name`, and every file that
 * of `file`.
 */
export function named(name, file) {
  const events = [];
  const first = 1_700_000_000_000_000;
  const add = (action, more) =>
    events.push({
      ...{ action, stream: 0, time_us: first + events.length * 1000 },
      ...{ category: name, user_metadata: name, compile_context: name },
      frames: [
        { name, filename: file, line: 2 },
        { name, filename: file, line: 1 },
      ],
      ...more,
    });
  for (let i = 0; i < 60; i++)
    add('alloc', { addr: 0x7f0000000000 + i * 0x10000000, size: (8 + (i % 4)) * MIB });
  add('oom', { size: 4096 * MIB, device_free: 24 * MIB });
  const note = (text, from, to) => [
    { stage: 'START', name: text, device: 0, time_us: first + from },
    { stage: 'END', name: text, device: 0, time_us: first + to },
  ];
  const annotations = [0, 1, 2].flatMap((step) => [
    ...note(`ProfilerStep#${step}`, step * 20_000, step * 20_000 + 19_500),
    ...note(name, step * 20_000 + 1000, step * 20_000 + 18_000),
  ]);
  return JSON.stringify({ segments: [], device_traces: [events], external_annotations: annotations });
}

/**
 * A profile in pprof's `profile.proto` in which functions, the package, values, units, labels and threads are called
 * `name`; frames are of `file`.
 */
export function namedProfile(name, file) {
  const varint = (number) =>
    number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...varint(Math.floor(number / 0x80))];
  const whole = (field, number) => [...varint(field << 3), ...varint(number)];
  const part = (field, bytes) => [...varint((field << 3) | 2), ...varint(bytes.length), ...bytes];
  const strings = ['', name, file, 'bytes', 'thread', `two ${name}`, 'count'];
  const valueType = (title, unit) => part(1, [...whole(1, title), ...whole(2, unit)]);
  const label = (key, text) => part(3, [...whole(1, key), ...whole(2, text)]);
  const functions = [1, 5].map((text, at) =>
    part(5, [...whole(1, at + 1), ...whole(2, text), ...whole(4, 2)]),
  );
  const locations = [1, 2].map((id) =>
    part(4, [...whole(1, id), ...part(4, [...whole(1, id), ...whole(2, id)])]),
  );
  const samples = [
    [1, 2, 4096],
    [2, 1, 1024],
  ].map(([leaf, caller, size]) =>
    part(2, [
      ...part(1, [leaf, caller]),
      ...part(2, [...varint(size), ...varint(size >> 8), ...varint(size)]),
      ...label(4, 1),
      ...label(1, 5),
    ]),
  );
  return Buffer.from(
    [
      ...[valueType(1, 3), valueType(5, 6), valueType(5, 1)],
      ...[...samples, ...locations, ...functions],
      ...strings.map((text) => part(6, [...Buffer.from(text)])),
      [...whole(14, 1), ...part(13, varint(1))],
    ].flat(),
  );
}

/**
 * A step of a run whose two weights were allocated before recording, by stacks of C++: their module follows from the
 * gradients of the same size. Then a backward operator with its forward stack, and generated code with its FX trace.
 */
export function recordedLate() {
  const SIZE = 8 * MIB;
  const cpp = (name) => ({ filename: '??', line: 0, name });
  const python = (filename, line, name, more = {}) => ({ filename, line, name, ...more });
  const forward = [
    cpp('torch::autograd::VariableType::(anonymous namespace)::mm(c10::X)'),
    python('/p/net.py', 20, 'forward'),
    python('/v/torch/nn/modules/module.py', 1, '_call_impl'),
    python('/p/train.py', 5, 'main'),
  ];
  const engine = cpp('torch::autograd::Engine::evaluate_function(X)');
  const backward = [cpp('torch::autograd::generated::MmBackward0::apply(std::X)'), engine];
  const generated = python('/tmp/torchinductor_me/ab/fx_generated.py', 7, 'call', {
    ...{ fx_node_op: 'call_function', fx_node_name: 'addmm_1', fx_node_target: 'aten.addmm.default' },
    fx_original_trace: 'File "/p/net.py", line 30, in block\n    return self.net2(b)\n',
  });
  const freed = [python('/p/train.py', 30, 'zero_grad')];
  const events = [];
  const add = (action, addr, size, stack, more = {}) =>
    events.push({
      ...{ action, addr, size, stream: 0, time_us: 1_700_000_000_000_000 + events.length * 1000 },
      ...{ frames: stack, ...more },
    });
  const at = (number) => 0x7f0000000000 + number * 0x10000000;
  for (const n of [0, 1]) add('alloc', at(n), 2 * SIZE, forward);
  for (const n of [2, 3]) add('alloc', at(n), SIZE, backward);
  for (const n of [0, 1])
    for (const action of ['free_requested', 'free_completed']) add(action, at(n), 2 * SIZE, freed);
  add('alloc', at(4), SIZE / 2, [
    python('/v/torch/optim/adam.py', 5, 'step'),
    python('/v/torch/optim/optimizer.py', 526, 'wrapper'),
  ]);
  add('alloc', at(5), 3 * SIZE, [cpp('at::_ops::mm::call(at::Tensor const&)'), ...backward], {
    forward_frames: [
      '  File "/p/train.py", line 20, in step\n    loss = model(x)\n',
      '  File "/p/model.py", line 12, in forward\n    return x @ self.w\n',
    ],
  });
  add('alloc', at(6), 5 * SIZE, [generated, python('/p/train.py', 90, '<module>')]);
  const blocks = [0, 1].map((n) => ({
    ...{ address: at(8) + n * SIZE, size: SIZE, requested_size: SIZE, state: 'active_allocated', frames: [] },
  }));
  const segment = {
    ...{ device: 0, address: at(8), total_size: 2 * SIZE, stream: 0, segment_type: 'large' },
    ...{ segment_pool_id: [0, 0], is_expandable: false, frames: [], blocks },
  };
  return JSON.stringify({ segments: [segment], device_traces: [events] });
}
