// Finds texts of the page that are shown but can't be translated: those that aren't passed through `t` or `plural`.
import { forEachChild, lineOf, literal, parse } from './syntax.mjs';

/** Attributes and properties whose value is shown. */
const READ = new Set([
  ...['title', 'label', 'placeholder', 'alt', 'text', 'tooltip', 'heading', 'caption', 'ariaLabel'],
  ...['aria-label', 'aria-description', 'aria-roledescription', 'aria-valuetext', 'textContent', 'innerText'],
]);

/** Functions by name, and which of their arguments are shown; with `rest`, from that one on. */
const READ_ARGUMENTS = new Map([
  ['add', { from: 1, rest: true }],
  ['element', { from: 2, rest: true }],
  ['replace', { from: 1, rest: true }],
  ['setText', { from: 1 }],
  ['setLabel', { from: 1 }],
  ['say', { from: 0 }],
  ['iconButton', { from: 1 }],
  ['openMenu', { from: 3 }],
  ['openMenuAt', { from: 2 }],
  ['createTextNode', { from: 0 }],
  ['Choice', { from: 0 }],
  ['item', { from: 0 }],
  ['check', { from: 0 }],
  ['radio', { from: 0 }],
]);

/** The same in every language: names of products and formats, and of keys. */
const NAMES =
  /\b(Arrow|Mac|Unidentified|Memlens|PyTorch|Python|Ruby|SQL|NULL|SVG|PNG|JSON|CSV|HTML|Markdown|GPU|CUDA|Alt|Control|Ctrl|Meta|Shift|Enter|Escape|Space|Tab|Home|End|Delete|Page(Up|Down)|F\d+)\b/g;
/** A sentence or a label, wherever it occurs. */
const SENTENCE = /^[A-Z][a-z’]+([,:]? [\w(“‘–]|…$|$)/;
/** Sentences that aren't shown: the messages of bugs, and what is logged to the console. */
const FOR_PROGRAMMERS = /^(Error|TypeError|RangeError|invariant|console\.\w+)$/;

/** A term of a filter. */
const TERM = /^[a-z-]+[:<>]\S*$/;

const hasWord = (text) => /\p{L}{2,}/u.test(text.replace(NAMES, '')) && !TERM.test(text);

const OF_BINARY = new Set(['+', '??', '||']);

/** The name by which something is called: `say` of `this.context.say`. */
function calledName(node) {
  if (node.type === 'ChainExpression') return calledName(node.expression);
  if (node.type === 'MemberExpression' && !node.computed) return node.property.name;
  return node.type === 'Identifier' ? node.name : '';
}

/** The texts that an expression may evaluate to, without the results of calls. */
function* textsOf(node) {
  const text = node.type === 'JSXText' ? node.value : literal(node);
  if (text !== undefined) yield { node, text };
  else if (node.type === 'TemplateLiteral') {
    yield { node, text: node.quasis.map(({ value }) => value.cooked).join('{}') };
    for (const each of node.expressions) yield* textsOf(each);
  } else if (node.type === 'ConditionalExpression') {
    yield* textsOf(node.consequent);
    yield* textsOf(node.alternate);
  } else if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
    if (OF_BINARY.has(node.operator)) yield* textsOf(node.left);
    if (OF_BINARY.has(node.operator) || node.operator === '&&') yield* textsOf(node.right);
  } else if (['ParenthesizedExpression', 'TSAsExpression', 'JSXExpressionContainer'].includes(node.type))
    yield* textsOf(node.expression);
  else if (node.type === 'SpreadElement') yield* textsOf(node.argument);
  else if (node.type === 'ArrayExpression') for (const each of node.elements) if (each) yield* textsOf(each);
}

/** The texts of a file that aren't passed through `t` or `plural`: "FILE:LINE: TEXT". */
export function untranslated(file, source) {
  const found = new Map();
  const report = (node, text) =>
    found.set(node, `${file}:${lineOf(source, node.start)}: ${text.replace(/\s+/g, ' ').trim()}`);
  const read = (node) => {
    for (const { node: at, text } of textsOf(node)) if (hasWord(text)) report(at, text);
  };
  const visit = (node, parent) => {
    if (/^TSType|^TS\w+(Keyword|Type|TypeReference)$|^ImportDeclaration$/.test(node.type)) return;
    switch (node.type) {
      case 'CallExpression':
      case 'NewExpression': {
        const name = calledName(node.callee);
        if (name === 't' || name === 'plural') {
          for (const each of node.arguments) visit(each, node);
          return;
        }
        if (FOR_PROGRAMMERS.test(source.slice(node.callee.start, node.callee.end))) return;
        const known = READ_ARGUMENTS.get(name);
        const texts = node.arguments.slice(known?.from ?? Infinity);
        for (const each of known?.rest ? texts : texts.slice(0, 1)) read(each);
        if (name === 'setAttribute' && READ.has(literal(node.arguments[0])) && node.arguments[1])
          read(node.arguments[1]);
        break;
      }
      case 'Property':
        if (!node.shorthand && READ.has(node.key.name ?? literal(node.key))) read(node.value);
        break;
      case 'JSXAttribute':
        if (node.value && READ.has(source.slice(node.name.start, node.name.end))) read(node.value);
        break;
      case 'JSXText':
        read(node);
        break;
      case 'JSXExpressionContainer':
        if (parent.type === 'JSXElement' || parent.type === 'JSXFragment') read(node);
        break;
      case 'AssignmentExpression':
        if (node.operator === '=' && READ.has(calledName(node.left))) read(node.right);
        break;
      case 'TemplateLiteral':
        if (node.expressions.length > 0 && SENTENCE.test(`${node.quasis[0].value.cooked}x`)) read(node);
    }
    const text = literal(node);
    if (text !== undefined && SENTENCE.test(text) && hasWord(text) && isShown(node, parent))
      report(node, text);
    forEachChild(node, visit);
  };
  visit(parse(file, source));
  return [...found.values()];
}

/** Skips comparisons and the arguments of `t` and `plural`. */
function isShown(node, parent) {
  if (parent.type === 'CallExpression') return !/^(t|plural)$/.test(calledName(parent.callee));
  // package.nls.json has its translation
  if (parent.type === 'Property' && parent.key.name === 'palette') return false;
  return (
    !['SwitchCase', 'BinaryExpression', 'LogicalExpression', 'AssignmentExpression'].includes(parent.type) &&
    parent.key !== node
  );
}
