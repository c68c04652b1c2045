// A made-up training run: what a snapshot of one looks like, without a snapshot.

export interface Made {
  size: number;
  start: number;
  end: number | null;
  stack: number;
  category: number;
}

export interface Run {
  /** By allocation, in start order. `start` and `end` are moments. */
  allocations: Made[];
  /** Microseconds since the first event, by moment. */
  times: number[];
  stacks: { function: string; file: string; line: number; operator: string }[];
  categories: string[];
}

const CATEGORIES = [
  'parameter',
  'activation',
  'gradient',
  'optimizer_state',
  'temporary',
  'autograd_detail',
  'input',
];

const OPS = ['attention', 'softmax', 'mlp_up', 'gelu', 'mlp_down', 'layer_norm', 'dropout', 'residual'];
const MIB = 2 ** 20;

/** Forward, backward and optimizer over `steps` steps of a network of `layers` layers. */
export function trainingRun(layers: number, steps: number, seed = 1): Run {
  const random = generator(seed);
  const run: Run = { allocations: [], times: [0], stacks: [], categories: CATEGORIES };
  let clock = 0;
  const tick = (): number => {
    clock += Math.ceil(2 + random() ** 4 * 900);
    return run.times.push(clock) - 1;
  };
  const stackOf = (name: string, file: string, line: number): number => {
    const known = run.stacks.findIndex((s) => s.function === name && s.line === line);
    if (known >= 0) return known;
    return run.stacks.push({ function: name, file, line, operator: `aten::${name}` }) - 1;
  };
  const alloc = (mib: number, stack: number, category: number): number => {
    const size = Math.max(512, Math.round((mib * MIB) / 512) * 512);
    return run.allocations.push({ size, start: tick(), end: null, stack, category }) - 1;
  };
  const free = (id: number): void => {
    const made = run.allocations[id];
    if (made) made.end = tick();
  };

  const parameters: number[] = [];
  for (let layer = 0; layer < layers; layer++) {
    for (const [i, op] of OPS.entries()) {
      parameters.push(
        alloc(2 + 14 * (i % 3) * random(), stackOf(`${op}.__init__`, '/home/dev/train/model.py', 20 + i), 0),
      );
    }
  }
  const optimizer: number[] = [];
  for (let step = 0; step < steps; step++) {
    const batch = alloc(24, stackOf('next_batch', '/home/dev/train/data.py', 61), 6);
    const activations: number[] = [];
    for (let layer = 0; layer < layers; layer++) {
      for (const [i, op] of OPS.entries()) {
        const temporary = alloc(
          8 + 60 * random(),
          stackOf(`${op}.scratch`, '/home/dev/train/ops.py', 100 + 7 * i),
          4,
        );
        activations.push(
          alloc(
            4 + 40 * random() * ((i % 4) + 1),
            stackOf(`${op}.forward`, '/home/dev/train/model.py', 88 + 9 * i),
            1,
          ),
        );
        free(temporary);
      }
    }
    const gradients: number[] = [];
    for (const [i, activation] of activations.reverse().entries()) {
      const detail = alloc(1 + 9 * random(), stackOf('backward', '/home/dev/train/train.py', 47), 5);
      gradients.push(
        alloc(2 + 14 * ((i + 1) % 3) * random(), stackOf('loss.backward', '/home/dev/train/train.py', 48), 2),
      );
      free(activation);
      free(detail);
    }
    if (step === 0) {
      for (const i of parameters.keys()) {
        optimizer.push(
          alloc(
            3 + 20 * ((i + 1) % 3) * random(),
            stackOf('optimizer.step', '/home/dev/train/train.py', 52),
            3,
          ),
        );
      }
    }
    for (const gradient of gradients) free(gradient);
    free(batch);
  }
  return run;
}

/** Small and the same everywhere: mulberry32. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
