// Bundles DevTools' engine of heap snapshots, of the npm package chrome-devtools-frontend, to be run by Node:
//
//   node devtools.mjs PACKAGE OUT.mjs && node --max-old-space-size=12000 OUT.mjs FILE.heapsnapshot
//
// What runs is what its Memory panel does to a file: nodes, edges, names, retainers, dominators and retained sizes.
import path from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';

const [folder, out] = process.argv.slice(2);
const worker = path.resolve(folder, 'front_end/entrypoints/heap_snapshot_worker');
const program = `
  import { createReadStream } from 'node:fs';
  import { HeapSnapshotLoader } from './HeapSnapshotLoader.ts';
  import { SecondaryInitManager } from './HeapSnapshot.ts';
  async function read(file) {
    const loader = new HeapSnapshotLoader({ sendEvent() {} });
    for await (const chunk of createReadStream(file, { encoding: 'latin1', highWaterMark: 1 << 20 })) {
      loader.write(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    loader.close();
    const channel = new MessageChannel();
    new SecondaryInitManager(channel.port2);
    const snapshot = await loader.buildSnapshot(channel.port1);
    console.log(snapshot.nodeCount, snapshot.retainedSizes[snapshot.rootNodeIndexInternal / snapshot.nodeFieldCount]);
  }
  read(process.argv[2]).then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
`;
// Node 22 has it
const withResolvers = `Promise.withResolvers ??= function () {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};`;
// what DevTools' own build generates
const locales = `
  export const LOCALES = ['en-US'], BUNDLED_LOCALES = ['en-US'], DEFAULT_LOCALE = 'en-US';
  export const REMOTE_FETCH_PATTERN = '', LOCAL_FETCH_PATTERN = '';
`;
const generated = {
  name: 'generated',
  setup(builder) {
    builder.onResolve({ filter: /\/locales\.js$/ }, (file) => ({ path: file.path, namespace: 'generated' }));
    builder.onLoad({ filter: /.*/, namespace: 'generated' }, () => ({ contents: locales }));
  },
};
await build({
  stdin: { contents: program, resolveDir: worker, loader: 'ts' },
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outfile: out,
  banner: { js: withResolvers },
  logLevel: 'error',
  plugins: [generated],
});
