// Objects of a heap dump in words.

import type { ObjectRow, TypeRow } from '../../../extension/shared/protocol.gen';
import { element } from '../widgets/dom';
import { bytes, count, exactBytes } from '../base/format';
import { fileName } from '../base/paths';
import { shorten, visible } from '../base/text';

const MOST_TYPE = 140;
const MOST_NAME = 100;

/** A type without its package: that of a Java class or a .NET type is what stands before the last dot of its head. */
export function shortType(type: string): string {
  const own = type.startsWith('(') ? type : (type.split(' (', 1)[0] ?? type);
  const head = /^[^<([]*/.exec(own)?.[0] ?? '';
  const dot = head.lastIndexOf('.');
  return dot > 0 && dot < head.length - 1 ? own.slice(dot + 1) : own;
}

/** What an object is called besides its type: a string's text, a function's name. */
export function ownName({ name, type }: Pick<ObjectRow, 'name' | 'type'>): string {
  return name === '' || name === type ? '' : shorten(name, MOST_NAME);
}

/** "Session @5143". */
export function objectText(row: Pick<ObjectRow, 'type' | 'name' | 'id' | 'object'>): string {
  const name = ownName(row);
  const text = `${shortType(row.type)} ${idText(row)}`;
  return visible(name === '' ? text : `${text} ${JSON.stringify(name)}`);
}

/** The file's own id, as it writes it; of what a number here can't hold the object's place in the file. */
export function idText({ id, object }: Pick<ObjectRow, 'id' | 'object'>): string {
  if (!Number.isSafeInteger(id)) return `#${object}`;
  return id > 0xffff_ffff ? `@0x${id.toString(16)}` : `@${id}`;
}

export type Cell = readonly (Node | string)[];

export function objectCell(row: ObjectRow, by = ''): Cell {
  const name = ownName(row);
  const cells: (Node | string)[] = [];
  if (by !== '') cells.push(element('bdi', { class: 'heap-reference' }, shorten(by, 80)), ' ');
  cells.push(
    element('bdi', { class: 'code', title: row.type }, shorten(shortType(row.type), MOST_TYPE)),
    element('span', { class: 'muted heap-id' }, ` ${idText(row)}`),
  );
  if (name !== '') cells.push(element('bdi', { class: 'heap-name' }, ` ${name}`));
  for (const flag of row.flags) cells.push(element('span', { class: 'badge' }, flag));
  if (row.distance === null) cells.push(element('span', { class: 'badge' }, 'unreachable'));
  cells.push(...placeCell(row.file, row.line));
  return cells;
}

export function typeCell(row: Pick<TypeRow, 'type'>): Cell {
  return [element('bdi', { class: 'code', title: row.type }, shorten(row.type, MOST_TYPE))];
}

/** Where it is defined, to be clicked. */
function placeCell(file: string | null, line: number | null): (Node | string)[] {
  if (file === null || line === null) return [];
  const text = `${shorten(fileName(file), 60)}:${line}`;
  return [element('bdi', { class: 'place place-link', title: `Open ${shorten(file, 300)}:${line}` }, text)];
}

export function bytesCell(value: number): Cell {
  return [element('span', { title: exactBytes(value) }, bytes(value))];
}

export function countCell(value: number): Cell {
  return [count(value)];
}
