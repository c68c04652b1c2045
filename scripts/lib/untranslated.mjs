// Finds texts of the page that are shown but can't be translated: those that aren't passed through `t` or `plural`.
import ts from 'typescript';

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

/** The name by which something is called: `say` of `this.context.say`. */
function calledName(expression) {
  if (ts.isPropertyAccessExpression(expression)) return expression.name.text;
  return ts.isIdentifier(expression) ? expression.text : '';
}

/** The texts that an expression may evaluate to, without the results of calls. */
function* textsOf(node) {
  if (ts.isStringLiteralLike(node) || ts.isJsxText(node)) yield { node, text: node.text };
  else if (ts.isTemplateExpression(node)) {
    yield {
      node,
      text: [node.head, ...node.templateSpans.map(({ literal }) => literal)]
        .map(({ text }) => text)
        .join('{}'),
    };
    for (const { expression } of node.templateSpans) yield* textsOf(expression);
  } else if (ts.isConditionalExpression(node)) {
    yield* textsOf(node.whenTrue);
    yield* textsOf(node.whenFalse);
  } else if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const { PlusToken, QuestionQuestionToken, BarBarToken, AmpersandAmpersandToken } = ts.SyntaxKind;
    if ([PlusToken, QuestionQuestionToken, BarBarToken].includes(kind)) yield* textsOf(node.left);
    if ([PlusToken, QuestionQuestionToken, BarBarToken, AmpersandAmpersandToken].includes(kind))
      yield* textsOf(node.right);
  } else if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSpreadElement(node))
    yield* textsOf(node.expression);
  else if (ts.isJsxExpression(node) && node.expression) yield* textsOf(node.expression);
  else if (ts.isArrayLiteralExpression(node)) for (const each of node.elements) yield* textsOf(each);
}

/** The texts of a file that aren't passed through `t` or `plural`: "FILE:LINE: TEXT". */
export function untranslated(file, source) {
  const tree = ts.createSourceFile(
    file,
    source,
    ts.ScriptTarget.Latest,
    true,
    file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const found = new Map();
  const report = (node, text) => {
    const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree));
    found.set(node, `${file}:${line + 1}: ${text.replace(/\s+/g, ' ').trim()}`);
  };
  const read = (node) => {
    for (const { node: at, text } of textsOf(node)) if (hasWord(text)) report(at, text);
  };
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const name = calledName(node.expression);
      if (name === 't' || name === 'plural') {
        node.arguments.forEach(visit);
        return;
      }
      if (FOR_PROGRAMMERS.test(node.expression.getText(tree))) return;
      const known = READ_ARGUMENTS.get(name);
      const texts = node.arguments?.slice(known?.from ?? Infinity) ?? [];
      for (const each of known?.rest ? texts : texts.slice(0, 1)) read(each);
      if (name === 'setAttribute' && READ.has(node.arguments[0]?.text) && node.arguments[1])
        read(node.arguments[1]);
    } else if (ts.isPropertyAssignment(node)) {
      if (READ.has(node.name.text)) read(node.initializer);
    } else if (ts.isJsxAttribute(node)) {
      if (node.initializer && READ.has(node.name.getText(tree))) read(node.initializer);
    } else if (ts.isJsxText(node)) read(node);
    else if (ts.isJsxExpression(node) && (ts.isJsxElement(node.parent) || ts.isJsxFragment(node.parent)))
      read(node);
    else if (
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      READ.has(calledName(node.left))
    )
      read(node.right);
    else if (ts.isStringLiteralLike(node) && SENTENCE.test(node.text) && hasWord(node.text) && isShown(node))
      report(node, node.text);
    else if (ts.isTemplateExpression(node) && SENTENCE.test(`${node.head.text}x`)) read(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return [...found.values()];
}

/** Skips comparisons and the arguments of `t` and `plural`. */
function isShown(node) {
  const { parent } = node;
  if (ts.isCallExpression(parent)) return !/^(t|plural)$/.test(calledName(parent.expression));
  return !ts.isCaseClause(parent) && !ts.isBinaryExpression(parent) && parent.name !== node;
}
