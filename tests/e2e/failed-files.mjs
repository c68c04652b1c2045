// A reporter for `node --test`: the names of the test files that failed in the lanes, one per line.
export default async function* failedFiles(events) {
  const names = new Set();
  for await (const { type, data } of events)
    if (type === 'test:fail' && data.nesting === 0) names.add(data.name);
  yield [...names].join('\n');
}
