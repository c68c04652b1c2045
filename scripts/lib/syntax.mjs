// The syntax tree of a TypeScript file, as ESTree has it.
import { parseSync, visitorKeys } from 'oxc-parser';

/** A file's tree and its comments' texts; each node has its `parent`. Throws if it can't be parsed. */
export function parse(file, source) {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0].message}`);
  return program;
}

/** Calls `visit` with a node's children and with itself as their parent. */
export function forEachChild(node, visit) {
  for (const key of visitorKeys[node.type] ?? [])
    for (const child of [node[key]].flat()) if (child) visit(child, node);
}

/** The line, from 1, of an offset in a text. */
export const lineOf = (source, offset) => source.slice(0, offset).split('\n').length;

/** The text of a literal or of a template without substitutions; undefined for anything else. */
export function literal(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0) return node.quasis[0].value.cooked;
  return undefined;
}
