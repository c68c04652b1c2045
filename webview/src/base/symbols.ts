// Names of functions, types and packages where there is little room: their last part says most.

import { shorten } from './text';

const OPENING = '(<[{';
const CLOSING = ')>]}';
/** Longer ones are taken as they are, since their parts can't be read anyway. */
const LONGEST = 1000;
/** Operators that are named with brackets, so that those aren't in pairs. */
const BRACKETS = /operator\s*(<|>|-)|->/;
/** Paths and names of files, whose dots and slashes separate nothing that could be left out. */
const FILE =
  /^[/.~]|^[A-Za-z]:\\|\.(so|dll|dylib|exe|[a-z]?py|[cm]?[jt]sx?|go|rs|cc?|cpp|cu|h|hpp|java|rb|html?)([.:]\d+)*$/;

/**
 * A name and what may stand for it, the longest first: without parameters, without the arguments of templates, then
 * without one after the other of the packages, namespaces and classes that it begins with.
 */
export function shorterNames(name: string): readonly string[] {
  if (name.length > LONGEST || BRACKETS.test(name)) return [name];
  const bare = withoutParameters(name);
  const plain = withoutArguments(bare);
  return [...new Set([name, bare, plain, ...ends(plain)])];
}

/** At most `most` characters of a name: as many of its parts as fit, or as much of the last. */
export function shortName(name: string, most: number): string {
  const names = shorterNames(name);
  return shorten(names.find((each) => each.length <= most) ?? names.at(-1) ?? name, most);
}

/** How deep each character is in brackets; an opening one is as deep as what is in it. */
function depths(name: string): number[] {
  let depth = 0;
  return Array.from({ length: name.length }, (_, i) => {
    const letter = name.charAt(i);
    if (OPENING.includes(letter)) depth++;
    const here = depth;
    if (CLOSING.includes(letter)) depth = Math.max(depth - 1, 0);
    return here;
  });
}

/** Without the parameters at its end: not the receiver of a Go method, nor what stands after a blank. */
function withoutParameters(name: string): string {
  const depth = depths(name);
  const end = name.search(/\)( ?const| ?&{1,2}| ?noexcept| ?\[[^\]]*\])*$/);
  if (end < 0) return name;
  for (let at = end - 1; at > 0; at--)
    if (depth[at] === 1 && name[at] === '(')
      return /[\w>)\]}]/.test(name.charAt(at - 1)) ? name.slice(0, at) : name;
  return name;
}

/** With an ellipsis for what is in angle brackets after a name. */
function withoutArguments(name: string): string {
  const depth = depths(name);
  let made = '';
  let from = 0;
  for (let at = 1; at < name.length; at++) {
    if (name[at] !== '<' || depth[at] !== 1 || !/\w/.test(name.charAt(at - 1))) continue;
    let end = at + 1;
    while (end < name.length && !(name[end] === '>' && depth[end] === 1)) end++;
    if (end === name.length) break;
    made += `${name.slice(from, at)}<…>`;
    from = end + 1;
    at = end;
  }
  return made + name.slice(from);
}

/** What is left of it from each of its parts on, the longest first. */
function ends(name: string): string[] {
  const depth = depths(name);
  const separators = /\s/.test(name) || FILE.test(name) ? /::/g : /::|[./]/g;
  return [...name.matchAll(separators)].flatMap(({ 0: separator, index }) => {
    const end = name.slice(index + separator.length);
    // a closure is one of the function before it
    return depth[index] === 0 && /^[\w(<~$]/.test(end) ? [end] : [];
  });
}
