// A reporter for `node --test`: the names of the test files of the lanes that failed, one a line.
export default async function* failedFiles(events) {
  const names = new Set();
  for await (const { type, data } of events)
    if (type === 'test:fail' && data.nesting === 0) names.add(data.name);
  yield [...names].join('\n');
}
