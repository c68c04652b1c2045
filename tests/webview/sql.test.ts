import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SqlColumn, SqlSchema } from '../../extension/shared/protocol.gen';
import { filterOf, inOneLine, nameObjects } from '../../webview/src/sql/as-filter';
import { complete } from '../../webview/src/sql/complete';
import { numberIn, placeIn, rolesOf, shownCell, sortedRows, toCsv, toJson } from '../../webview/src/sql/rows';

const table = (name: string, columns: string[], kind: 'function' | 'table' = 'table') => ({
  name,
  kind,
  description: `all ${name}`,
  arguments: kind === 'function' ? ['device', 'moment'] : [],
  columns: columns.map((column) => ({ name: column, type: 'INTEGER', description: `its ${column}` })),
});

const SCHEMA: SqlSchema = {
  tables: [
    table('events', ['event', 'moment', 'size_bytes']),
    table('frames', ['frame', 'file', 'line']),
    table('live_at', ['allocation', 'size_bytes'], 'function'),
  ],
  functions: ['sum', 'substr'],
  keywords: ['SELECT', 'FROM', 'WHERE', 'GROUP', 'AS'],
  examples: [],
};

/** Suggestions where `|` stands. */
function at(query: string, asked = false): string[] {
  const caret = query.indexOf('|');
  const { suggestions } = complete(query.replace('|', ''), caret, SCHEMA, asked);
  return suggestions.map((suggestion) => suggestion.text);
}

describe('completion of a query', () => {
  test('offers tables where one belongs', () => {
    assert.deepEqual(at('SELECT * FROM ev|'), ['events']);
    assert.deepEqual(at('SELECT * FROM events AS e JOIN l|'), ['live_at(device, moment)']);
    assert.deepEqual(at('SELECT * FROM events, fr|'), ['frames']);
    assert.deepEqual(at('SELECT * FROM |', true), ['events', 'frames', 'live_at(device, moment)']);
  });

  test('offers the columns of the tables that the query names, wherever it names them', () => {
    assert.deepEqual(at('SELECT mo| FROM events'), ['moment']);
    assert.deepEqual(at('SELECT mo| FROM frames'), []);
    assert.deepEqual(at('SELECT f.| FROM events AS e, frames f'), ['frame', 'file', 'line']);
    assert.deepEqual(at('SELECT l.a| FROM events e JOIN live_at(e.device, e.moment) AS l'), ['allocation']);
    assert.deepEqual(at('SELECT s| FROM events').slice(0, 2), ['size_bytes', 'sum']);
    // A keyword after a table isn't an alias for it.
    assert.deepEqual(at('SELECT where.| FROM events WHERE'), []);
  });

  test('says nothing within text and comments, or when nothing is left to write', () => {
    assert.deepEqual(at("SELECT 'ev| FROM events"), []);
    assert.deepEqual(at('SELECT 1 -- ev|'), []);
    assert.deepEqual(at('SELECT 1 /* ev|'), []);
    assert.deepEqual(at("SELECT 'it''s' FROM fr|"), ['frames']);
    assert.deepEqual(at('SELECT * FROM events|'), []);
    assert.deepEqual(at('SELECT 12|'), []);
    assert.deepEqual(at('SELECT |'), []);
  });

  test('looks at so much of a query that no query takes long', { timeout: 60_000 }, () => {
    for (const piece of ["'", '"', '/*', 'from a,', '(', 'from events as '])
      complete(piece.repeat(200_000), 200_000, SCHEMA, true);
    const far = `${'SELECT 1 FROM frames; '.repeat(1000)}SELECT mo`;
    const { from, suggestions } = complete(`${far} FROM events`, far.length, SCHEMA, false);
    assert.deepEqual([from, suggestions[0]?.text], [far.length - 2, 'moment']);
  });
});

const columns = (...names: string[]): SqlColumn[] => names.map((name) => ({ name, type: 'integer' }));

describe('rows of an answer', () => {
  test('lead to allocations and places by the names of their columns', () => {
    const roles = rolesOf(columns('Allocation', 'x', 'file', 'LINE', 'function'));
    const row = [7, 1, '/a.py', 3, 'f'];
    assert.equal(numberIn(row, roles.allocation), 7);
    assert.deepEqual(placeIn(row, roles), { file: '/a.py', line: 3, function: 'f' });
    for (const other of [
      [null, 1, '', 3, 'f'],
      ['7', 1, '/a.py', 0, 'f'],
      [-1, 1, null, 3, 'f'],
      [1.5, 1, '/a.py', '3', 'f'],
    ]) {
      assert.equal(numberIn(other, roles.allocation), null);
      assert.equal(placeIn(other, roles), null);
    }
    assert.equal(placeIn(row, rolesOf(columns('a', 'b'))), null);
  });

  test('are shown with units, and in full', () => {
    assert.deepEqual(shownCell(3145728, 'size_bytes'), { text: '3 MiB', full: '3,145,728 bytes' });
    assert.deepEqual(shownCell(1500, 'lifetime_us'), { text: '1.5 ms', full: '1,500 µs' });
    assert.equal(shownCell(3145728, 'allocation').text, '3145728');
    assert.equal(shownCell(null, 'x').text, 'NULL');
    assert.equal(shownCell('a\u202eb', 'x').text, 'a<U+202E>b');
  });

  test('are sorted as SQLite sorts, equal ones left alone', () => {
    const rows = [['b'], [2], [null], [10], ['a'], [1.5]];
    assert.deepEqual(sortedRows(rows, 0, false), [[null], [1.5], [2], [10], ['a'], ['b']]);
    assert.deepEqual(
      sortedRows(
        [
          [1, 'x'],
          [1, 'y'],
        ],
        0,
        true,
      ),
      [
        [1, 'x'],
        [1, 'y'],
      ],
    );
  });

  test('are quoted in CSV, and no formula for a spreadsheet', () => {
    const rows = [
      ['=SUM(A1)', '+1', '-1', '@x', '\tx', -1, null, 'a"b', 'a,b', 'a\nb', "'"],
      ['a=1', '', ' x', '1', 'x', 1.5, 0, '\r', ',', '"', 'ö'],
    ];
    const names = columns(...'abcdefghij'.split(''), '=k');
    assert.equal(
      toCsv(names, rows),
      [
        "a,b,c,d,e,f,g,h,i,j,'=k",
        '\'=SUM(A1),\'+1,\'-1,\'@x,\'\tx,-1,,"a""b","a,b","a\nb",\'',
        'a=1,, x,1,x,1.5,0,"\'\r",",","""",ö',
        '',
      ].join('\r\n'),
    );
  });

  test('are no formulas whatever sign they begin with, and whatever blanks stand before it', () => {
    for (const start of ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20'])
      for (const before of ['', ' ', '\u00a0', '\t', '\u200b', '\ufeff ', '\n'])
        assert.match(toCsv([], [[`${before}${start}1`]]).split('\r\n')[1] ?? '', /^"?'/);
    // where cells are separated by other signs, as a spreadsheet does in many languages
    for (const separator of [';', '|', '\t', '\n', '\r'])
      for (const formula of ['=1+1', ' +1', '\uff1d1'])
        assert.ok(toCsv([], [[1, `a${separator}${formula}`]]).includes(`a${separator}'${formula}`));
    for (const text of ['a=1', '\u2212 1', ' x', '1-2', 'src/a.py'])
      assert.equal(toCsv([], [[text]]), `\r\n${text}\r\n`);
  });

  test('are objects in JSON, whatever their columns are called', () => {
    const text = toJson(columns('a', 'a', '__proto__'), [[1, 'x"</script>', null]]);
    assert.equal(text, '[\n  {"a": 1, "a_2": "x\\"</script>", "__proto__": null}\n]\n');
    assert.equal(JSON.stringify(JSON.parse(toJson(columns('a'), []))), '[]');
  });
});

describe('a query as a filter', () => {
  test('is one line, with nothing lost that has a meaning', () => {
    const query = `-- what "holds" it
      SELECT object, 'a -- b', "odd  name", [x y] /* not
      this */ FROM objects
      WHERE name = 'it''s
two'   AND x = '\\' ; -- end`;
    assert.equal(
      inOneLine(query),
      `SELECT object, 'a -- b', "odd  name", [x y] FROM objects WHERE name = ('it''s'||char(10)||'two') AND x = '\\'`,
    );
    assert.equal(
      filterOf("SELECT object\nFROM objects\nWHERE name = 'a' OR \"type\" = '\\';"),
      String.raw`query:"SELECT object FROM objects WHERE name = 'a' OR \"type\" = '\\'"`,
    );
    assert.equal(inOneLine('SELECT 1 /* without an end'), 'SELECT 1');
  });

  test('names objects by a column of that name, or by its only one', () => {
    assert.ok(nameObjects(columns('type', 'Object')));
    assert.ok(nameObjects(columns('target')));
    assert.ok(!nameObjects(columns('source', 'target')));
    assert.ok(!nameObjects(columns('object', 'OBJECT')));
    assert.ok(!nameObjects([{ name: 'type', type: 'text' }]));
    assert.ok(!nameObjects([]));
  });
});
