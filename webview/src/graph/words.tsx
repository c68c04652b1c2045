// Objects of a heap dump in words, and as cells of its tables.

import type { VNode } from 'preact';
import type {
  GraphInfo,
  HeapFormat,
  ObjectRow,
  ReferenceRow,
  RootRow,
  TypeRow,
} from '../../../extension/shared/protocol.gen';
import type { CopiedCell, CopiedPlace } from '../widgets/copy';
import type { GridCell } from '../widgets/grid';
import { bytes, count, exactBytes } from '../base/format';
import { plural, t } from '../base/l10n';
import { fileName } from '../base/paths';
import { shorten, visible } from '../base/text';

const MOST_TYPE = 140;
const MOST_NAME = 100;

const PACKAGES_OF_ARGUMENTS = /(?<=[<,[])(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])/g;

/** A type without packages: `List<Session>` of `System.Collections.Generic.List<Shop.Session>`. */
export function shortType(type: string): string {
  return withoutPackage(type).replace(PACKAGES_OF_ARGUMENTS, '');
}

/** A type without its package: that of a Java class or a .NET type is what stands before the last dot of its head. */
function withoutPackage(type: string): string {
  const own = type.startsWith('(') ? type : (type.split(' (', 1)[0] ?? type);
  // V8 adds a page's address to the names of its own types, and its dots are none of packages
  if (own.includes(' / ')) return own;
  const head = /^[^<([]*/.exec(own)?.[0] ?? '';
  const dot = head.lastIndexOf('.');
  return dot > 0 && dot < head.length - 1 ? own.slice(dot + 1) : own;
}

/** What an object is called besides its type: a string's text, a function's name. */
export function ownName({ name, type }: Pick<ObjectRow, 'name' | 'type'>): string {
  return name === '' || name === type ? '' : shorten(name, MOST_NAME);
}

/** The format of the dump that is shown. */
let format: HeapFormat = {
  label: '',
  has_values: false,
  has_lasting_ids: true,
  has_static_fields: false,
  source_kinds: [],
  classes: [],
  named_types: [],
  all_roots: [],
  common_flags: [],
};

/** Sets the format of the dump that is shown, which says how its objects are called. */
export function setFormat(shown: HeapFormat): void {
  format = shown;
}

/** What an object is, in short and in full, and its own name besides; a class is its name, "class Session". */
function called(row: Pick<ObjectRow, 'name' | 'type'>): {
  readonly short: string;
  readonly full: string;
  readonly name: string;
} {
  if (row.name === '' && format.all_roots.includes(row.type))
    return { short: t('(roots)'), full: row.type, name: '' };
  if (row.name === '' || !format.classes.includes(row.type))
    return { short: shortType(row.type), full: row.type, name: ownName(row) };
  const short = t('class {0}', shorten(shortType(row.name), MOST_NAME));
  return { short, full: t('class {0}', row.name), name: '' };
}

/** "Session @5143", 'String @0x7f3a "Norway"', "class Session @0x7f40". */
export function objectText(row: Pick<ObjectRow, 'type' | 'name' | 'id' | 'object'>): string {
  const { short, name } = called(row);
  const text = `${short} ${idText(row)}`;
  return visible(name === '' ? text : `${text} ${JSON.stringify(name)}`);
}

/** The same for what leaves the page: without what the object contains. */
export function copiedText(row: Pick<ObjectRow, 'type' | 'name' | 'id' | 'object'>): string {
  const hides = row.name !== '' && row.name !== row.type && !format.named_types.includes(row.type);
  return objectText(hides ? { ...row, name: '…' } : row);
}

/** The type by which an object's references are left out: of a class with static fields its own. */
export function holderType({ type, name }: Pick<ObjectRow, 'type' | 'name'>): string {
  return format.has_static_fields && format.classes.includes(type) && name !== '' ? name : type;
}

/** What an object is, in full: its type, or of a class its name with the package. */
export function objectTitle(row: Pick<ObjectRow, 'type' | 'name'>): string {
  return visible(called(row).full);
}

/** The file's own id, as it writes it; of what a number here can't hold the object's place in the file. */
export function idText({ id, object }: Pick<ObjectRow, 'id' | 'object'>): string {
  if (!Number.isSafeInteger(id)) return `#${object}`;
  return format.has_lasting_ids ? `@${id}` : `@0x${id.toString(16)}`;
}

export function objectsText(objects: number): string {
  return plural(objects, '{0} object', '{0} objects');
}

export function referencesText(references: number): string {
  return plural(references, '{0} reference', '{0} references');
}

/** What dumps of Ruby and .NET, which have no names of references, call all of them. */
const NO_NAME = 'reference';

/** "cache →", "[3] → (weak)"; an arrow alone where the dump knows nothing of it. */
export function referenceWords({
  name,
  kind,
  strength,
}: Pick<ReferenceRow, 'name' | 'kind' | 'strength'>): string {
  const text = name !== '' ? `${shorten(name, 80)} ` : kind === NO_NAME ? '' : `(${kind}) `;
  return visible(strength === 'strong' ? `${text}→` : `${text}→ (${strength})`);
}

/** References of collections, which are named by what their keys contain. */
const BY_KEYS: readonly string[] = ['entry', 'key without a value'];

/** A reference's name for what leaves the page: without what a key contains. */
export function copiedName({ name, kind }: Pick<ReferenceRow, 'name' | 'kind'>): string {
  return name !== '' && BY_KEYS.includes(kind) ? '…' : name;
}

/** What a dump consists of, in a line. */
export function factsOf({
  objects,
  references,
  types,
  roots,
  threads,
  count_multiplier: each,
  written_ms: written,
}: GraphInfo): string {
  const parts = [
    t('{0}, {1} of {2}', format.label, objectsText(objects), plural(types, '{0} type', '{0} types')),
    referencesText(references),
    plural(roots, '{0} root', '{0} roots'),
    ...(threads > 0 ? [plural(threads, '{0} thread', '{0} threads')] : []),
  ];
  if (each > 1) parts.push(t('sampled: one object stands for {0}', count(Math.round(each))));
  if (written) parts.push(t('taken {0}', dateText(written)));
  return parts.join('  ·  ');
}

/** A moment of the clock, in milliseconds since 1970, as the user's clock shows it: "2026-03-04 05:06". */
function dateText(moment: number): string {
  // Sweden writes dates as ISO 8601 has them, which has no words
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' }).format(moment);
}

/** "local: orders (main)"; of .NET the detail says the kind as well: "static var Shop.Program.Open". */
export function rootText({ kind, detail }: Pick<RootRow, 'kind' | 'detail'>): string {
  const saysKind = detail.startsWith(`${kind.replace(/s$/, '')} `);
  return visible(detail === '' ? kind : saysKind ? shorten(detail, 200) : `${kind}: ${shorten(detail, 200)}`);
}

/** What is said where there are no rows. */
export function noObjects({ filter }: { readonly filter: string }): string {
  return filter === '' ? t('The dump has no objects.') : t('No object matches the filter.');
}

/** What is copied of an object by itself. */
export function copiedObject(row: ObjectRow): { readonly name: string; readonly place: CopiedPlace } {
  const { file, line } = row;
  return { name: objectText(row), place: file === null || line === null ? null : { file, line } };
}

/** A cell of a table, and what is copied of it. */
export interface Cell {
  readonly parts: GridCell;
  readonly copied: CopiedCell;
}

export const EMPTY: Cell = textCell('');

export function textCell(text: string): Cell {
  return { parts: [text], copied: text };
}

/** `badge` says something else of it, and `head` what it is to something. */
export function objectCell(row: ObjectRow, badge = '', head: VNode | null = null): Cell {
  const { flags, distance, file, line } = row;
  return {
    parts: [
      <span class="heap-line">
        {head}
        <ObjectName row={row} />
        {flags
          .filter((flag) => !format.common_flags.includes(flag))
          .map((flag) => (
            <Badge key={flag} text={flag} />
          ))}
        {distance === null && <Badge text={t('unreachable')} />}
        {badge !== '' && <Badge text={badge} />}
        {file !== null && line !== null && <PlaceLink file={file} line={line} />}
      </span>,
    ],
    copied: copiedText(row),
  };
}

/** What an object is called, in the parts of a line. */
export function ObjectName({ row }: { readonly row: ObjectRow }): VNode {
  const { short, full, name } = called(row);
  return (
    <>
      <TypeName type={full} text={short} />
      <span class="muted heap-id"> {idText(row)}</span>
      {name !== '' && <bdi class="heap-name"> {name}</bdi>}
    </>
  );
}

/** A place; where there is little room for it, its end with the line's number stays. */
export function PlaceLink({ file, line }: { readonly file: string; readonly line: number }): VNode {
  return (
    <span class="place place-link heap-place" title={t('Open {0}', `${shorten(file, 300)}:${line}`)}>
      <bdi dir="ltr">{`${shorten(fileName(file), 60)}:${line}`}</bdi>
    </span>
  );
}

export function TypeName({ type, text }: { readonly type: string; readonly text: string }): VNode {
  return (
    <bdi class="code" title={visible(type)}>
      {shorten(text, MOST_TYPE)}
    </bdi>
  );
}

export function Badge({ text }: { readonly text: string }): VNode {
  return <span class="badge">{visible(text)}</span>;
}

/** A type's name, and what it is of, an assembly or a class loader, without folders and packages; empty if not known. */
export function typeAndModule(type: string): readonly [own: string, module: string] {
  const [, own = type, module = ''] = /^([^(].*) \(([^()]+)\)$/.exec(type) ?? [];
  const loader = /^(?:[a-z_]\w*\.)+([A-Z][\w$]*)$/.exec(module)?.[1];
  return [own, loader ?? fileName(module)];
}

export function typeCell({ type }: Pick<TypeRow, 'type'>, badge = ''): Cell {
  const [own, module] = typeAndModule(type);
  const short = withoutPackage(own);
  const inPackage = own.slice(0, Math.max(own.indexOf(short), 0));
  return {
    parts: [
      <span class="heap-way" title={visible(type)}>
        {inPackage !== '' && <bdi class="code muted">{shorten(inPackage, MOST_TYPE)}</bdi>}
        <bdi class="code heap-own">
          {shorten(own.slice(inPackage.length).replace(PACKAGES_OF_ARGUMENTS, ''), MOST_TYPE)}
        </bdi>
        {module !== '' && <bdi class="muted heap-module">{visible(` (${module})`)}</bdi>}
      </span>,
      badge === '' ? '' : <Badge text={badge} />,
    ],
    copied: type,
  };
}

/** Bytes of the heap, and those outside of it where there are any. */
export function bytesAndNative(heap: number, native: number | null): string {
  return native === null || native === 0 ? bytes(heap) : t('{0} and {1} native', bytes(heap), bytes(native));
}

export function bytesCell(value: number): Cell {
  const shown = bytes(value);
  return { parts: [<span title={exactBytes(value)}>{shown}</span>], copied: { shown, exact: value } };
}

export function countCell(value: number): Cell {
  const shown = count(value);
  return { parts: [shown], copied: { shown, exact: value } };
}
