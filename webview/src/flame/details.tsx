// What the selected box is: its own and inclusive value, its function, its lines, its callers.

import { signal } from '@preact/signals';
import type { ComponentChild, VNode } from 'preact';
import type {
  FlameLine,
  FlameName,
  FlameNode,
  FlameNodeAnswer,
  FlameSides,
} from '../../../extension/shared/protocol.gen';
import { exactFigure, figure } from '../base/figure';
import { count, exactBytes } from '../base/format';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { changeOf, changeSentence, changeText, sideFigures, turnOf, type Sided } from './difference';
import { openLine, opens, type FlameGraph, type ShownNode } from './graph';
import { both, kindOf, nameText, share } from './words';

const CALLERS_SHOWN = 40;

export class FlameDetails {
  private readonly shown = signal<ShownNode | null>(null);

  constructor(private readonly graph: FlameGraph) {}

  readonly View = (): VNode => {
    const shown = this.shown.value;
    return (
      <aside class="flame-details" aria-label={t('The selected box')} hidden={!shown}>
        {shown && <Details {...shown} graph={this.graph} />}
      </aside>
    );
  };

  get isOpen(): boolean {
    return this.shown.peek() !== null;
  }

  clear(): void {
    this.shown.value = null;
  }

  show(shown: ShownNode): void {
    this.shown.value = shown;
  }
}

interface Props extends ShownNode {
  readonly graph: FlameGraph;
}

function Details(props: Props): VNode {
  const { answer, isCount, graph } = props;
  const { node, path, lines } = answer;
  const { name } = node;
  const sided = graph.question.sided();
  const { name: attribution } = graph.context.attribution;
  return (
    <>
      <h3>
        <bdi class="code">{shorten(nameText(name), 200)}</bdi>
      </h3>
      <div class="muted">{[kindOf(name), graph.places.of(name)].filter(Boolean).join(' · ')}</div>
      <dl>
        {sided ? (
          <Changes answer={answer} sided={sided} attribution={attribution} />
        ) : (
          <Facts answer={answer} isCount={isCount} attribution={attribution} />
        )}
      </dl>
      <Actions {...props} />
      {lines.length > 0 && <h4>{lines.length === 1 ? t('Line') : t('Lines')}</h4>}
      <ul class="flame-lines">
        {lines.map((line, i) => (
          <Line key={i} line={line} name={name} isCount={isCount} graph={graph} />
        ))}
      </ul>
      {path.length > 0 && <h4>{t('Called from')}</h4>}
      <ol class="flame-callers">
        {path
          .slice(-CALLERS_SHOWN)
          .reverse()
          .map((caller) => (
            <Caller key={caller.node} node={caller} graph={graph} />
          ))}
      </ol>
    </>
  );
}

interface FactsProps {
  readonly answer: FlameNodeAnswer;
  readonly isCount: boolean;
  /** By which rule something is charged to a box itself. */
  readonly attribution: string;
}

function Facts({ answer, isCount, attribution }: FactsProps): VNode {
  const { node, function_bytes: allBytes, function_count: allCount } = answer;
  const { function_self_bytes: allSelfBytes, function_self_count: allSelfCount } = answer;
  const total = isCount ? answer.total_count : answer.total_bytes;
  const again = node.node !== 0 && (allCount !== node.count || allSelfCount !== node.self_count);
  const rows: readonly (readonly [string, number, number])[] = [
    [t('Inclusive'), node.bytes, node.count],
    [t('Self ({0})', attribution), node.self_bytes, node.self_count],
    ...(again
      ? ([
          [t('Everywhere'), allBytes, allCount],
          [t('Self everywhere'), allSelfBytes, allSelfCount],
        ] as const)
      : []),
  ];
  return (
    <>
      {rows.map(([term, size, number]) => (
        <Fact key={term} term={term} title={exactBytes(size)}>
          {both(size, number)} <span class="muted">{share(isCount ? number : size, total)}</span>
        </Fact>
      ))}
    </>
  );
}

interface FactProps {
  readonly term: string;
  readonly title: string;
  readonly class?: string;
  readonly children: ComponentChild | readonly ComponentChild[];
}

function Fact({ term, title, children, ...rest }: FactProps): VNode {
  return (
    <>
      <dt>{term}</dt>
      <dd title={title} class={rest.class ?? ''}>
        {children}
      </dd>
    </>
  );
}

interface ChangesProps {
  readonly answer: FlameNodeAnswer;
  readonly sided: Sided;
  readonly attribution: string;
}

/** Both sides of a node of a comparison, and the change. */
function Changes({ answer, sided, attribution }: ChangesProps): VNode {
  const { scale, before, after } = sided;
  const { node, function_sides: everywhere } = answer;
  const { sides, self_sides: own } = node;
  const whole = changeOf(answer.whole);
  const turned = (term: string, part: FlameSides | null): VNode => {
    const change = changeOf(part);
    return (
      <Fact
        term={term}
        title={`${exactFigure(change.before)} → ${exactFigure(change.after)}`}
        class={`compare-difference ${turnOf(change, whole, scale)}`}
      >
        {changeText(change, whole, scale)}
      </Fact>
    );
  };
  const side = (term: string, size: number, many: number, all: number): VNode => (
    <Fact term={term} title={exactFigure(size)}>
      {`${sideFigures(size, many)}, ${share(size, all)}`}
    </Fact>
  );
  return (
    <>
      {turned(t('Difference'), sides)}
      {side(before, sides?.before_bytes ?? 0, sides?.before_count ?? 0, whole.before)}
      {side(after, sides?.after_bytes ?? 0, sides?.after_count ?? 0, whole.after)}
      {turned(t('Self ({0})', attribution), own)}
      {node.node !== 0 &&
        JSON.stringify(everywhere) !== JSON.stringify(sides) &&
        turned(t('Everywhere'), everywhere)}
    </>
  );
}

function Actions({ answer, drawn, graph }: Props): VNode {
  const { node } = answer;
  const { name } = node;
  const { commands, selection } = graph;
  const real = node.node !== 0 && name.kind !== 'none';
  const collapses = real && name.package !== '' && !name.is_package;
  const actions: readonly (readonly [boolean, string, string, () => void])[] = [
    [commands.hasObjects, t('Show Objects'), 'O', () => commands.showObjects()],
    [drawn, t('Zoom'), 'Enter', () => commands.zoomToNode(node)],
    [real && !graph.source.compared, t('Sandwich'), 'W', () => selection.toSandwich(name)],
    [real, t('Focus'), 'F', () => commands.focus(name)],
    [real && !name.is_package, t('Ignore'), 'I', () => commands.ignore(name)],
    [real, t('Hide'), 'H', () => commands.hide(name)],
    [collapses, t('Collapse {0}', shorten(name.package, 24)), 'C', () => commands.collapse(name)],
  ];
  return (
    <div class="flame-actions">
      {actions.map(
        ([offered, text, key, run]) =>
          offered && (
            <button key={key} type="button" class="button secondary" title={`${text} (${key})`} onClick={run}>
              {text}
            </button>
          ),
      )}
    </div>
  );
}

interface LineProps {
  readonly line: FlameLine;
  readonly name: FlameName;
  readonly isCount: boolean;
  readonly graph: FlameGraph;
}

function Line({ line, name, isCount, graph }: LineProps): VNode {
  const sided = graph.question.sided();
  const known = line.line > 0 ? graph.places.of(line) : name.declared || line.file || line.function;
  const text = shorten(known, 260);
  const figures = sided
    ? changeText(changeOf(line.sides), sided.whole, sided.scale)
    : isCount
      ? count(line.count)
      : figure(line.bytes);
  return (
    <li>
      {!opens(line, name) ? (
        <bdi>{text}</bdi>
      ) : (
        <button
          type="button"
          class="link"
          title={t('Open {0}', shorten(name.declared || `${line.file}:${line.line}`, 300))}
          onClick={(event) => openLine(graph, line, name, event.ctrlKey || event.metaKey)}
        >
          <bdi>{text}</bdi>
        </button>
      )}{' '}
      <span class="muted">{figures}</span>
    </li>
  );
}

function Caller({ node, graph }: { readonly node: FlameNode; readonly graph: FlameGraph }): VNode {
  const sided = graph.question.sided();
  const figures = sided ? changeSentence(changeOf(node.sides), sided) : both(node.bytes, node.count);
  return (
    <li>
      <button
        type="button"
        class="link"
        title={`${shorten(nameText(node.name), 300)}: ${figures}`}
        onClick={() => graph.selection.go(node)}
      >
        <bdi class="code">{shorten(nameText(node.name), 80)}</bdi>
      </button>{' '}
      <span class="muted">{graph.places.of(node.name)}</span>
    </li>
  );
}
