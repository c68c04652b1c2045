// What the snapshot says, in a sentence or two over everything, and the best of its findings below.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useId, useRef } from 'preact/hooks';
import type {
  HeadlineAnswer,
  FileWarning,
  SnapshotFinding,
  TextPart,
} from '../../../extension/shared/protocol.gen';
import { named, pieces, plural, said, t } from '../base/l10n';
import { atLine, baseName } from '../base/paths';
import { visible } from '../base/text';
import { Icon } from '../widgets/icon';
import { IconButton } from '../widgets/icon-button';
import { Phrase } from '../widgets/phrase';
import { Said } from '../widgets/said';
import type { Session } from './session';
import type { Looking, Summary } from './summary';

/** What links in findings change. */
export type FindingSession = Pick<Session, 'openFrame' | 'showEvidence' | 'showObjects' | 'copy'>;

/** What to do where there is no finding to look at. */
export interface NextStep {
  /** A sentence in which `{0}` is the link. */
  readonly text: string;
  readonly link: string;
  readonly press: () => void;
}

export interface HeadlineProps {
  readonly summary: Summary;
  readonly session: FindingSession;
  readonly next: NextStep;
}

export function Headline(props: HeadlineProps): VNode {
  const compared = props.summary.compared.value;
  return compared ? <ComparedHeadline {...props} headline={compared} /> : <OwnHeadline {...props} />;
}

/** Of two snapshots: what is found in one of them is about that one, and isn't said. */
function ComparedHeadline({
  summary,
  session,
  headline,
}: Pick<HeadlineProps, 'summary' | 'session'> & { readonly headline: HeadlineAnswer }): VNode {
  const { sentences } = headline;
  return (
    <section class="headline only compared" aria-label={t('Summary')}>
      <div class="headline-row">
        <p class="headline-text" role="status" title={sentences.map(said).map(visible).join(' ')}>
          {sentences.map((sentence, index) => (
            <span key={index} class={['headline-first', 'headline-second'][index] ?? ''}>
              <Part part={sentence} session={session} />{' '}
            </span>
          ))}
        </p>
        <div class="headline-buttons">
          <CopySummary summary={summary} session={session} />
        </div>
      </div>
    </section>
  );
}

function CopySummary({ summary, session }: Pick<HeadlineProps, 'summary' | 'session'>): VNode {
  return (
    <button
      type="button"
      class="icon-button headline-copy"
      title={t('Copy Summary')}
      aria-label={t('Copy Summary')}
      onClick={() => session.copy(summary.text)}
    >
      <Icon name="copy" />
    </button>
  );
}

function OwnHeadline({ summary, session, next: step }: HeadlineProps): VNode {
  const opened = useSignal(false);
  const id = useId();
  const headline = summary.headline.value;
  const findings = summary.findings.value ?? [];
  const warnings = summary.warnings.value;
  const opener = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    opened.value = false;
    // from the list, which is hidden now
    opener.current?.focus();
  };
  const copyFinding = (finding: SnapshotFinding): void =>
    summary.takeMarkdown(findings.indexOf(finding), (text) => session.copy(text));
  // The headline may be about the most important one; one that it ends with stands below it.
  const sentences = headline?.sentences ?? [];
  const last = sentences.length > 1 ? sentences.at(-1)?.text : undefined;
  const ending = headline?.rule === 'heap' ? undefined : findings.find(({ text }) => text === last);
  const notes = findings.filter(({ is_note: isNote }) => isNote);
  const next =
    ending ?? findings.find((each) => !each.is_note && (headline === null || !isSaid(each, headline)));
  const failed = headline?.rule === 'out_of_memory';
  // A heap dump's headline has its findings in it: the first stands beside its size, the others are listed.
  const isListed = (text: string): boolean => findings.some((each) => each.text.startsWith(text));
  const above =
    headline?.rule === 'heap'
      ? sentences.filter(({ text }, at) => at < 2 || !isListed(text))
      : sentences.slice(0, ending && !failed ? -1 : undefined);
  const shown = failed || (headline?.rule === 'heap' && above.length > 1) ? undefined : next;
  // what the rows say as a whole isn't said again
  const rows = headline && { ...headline, sentences: above, text: above.map(({ text }) => text).join(' ') };
  const isWhole = (each: SnapshotFinding): boolean =>
    each.evidence_from.length === 0 &&
    !hasMore(each.sentence) &&
    (each === shown || (rows !== null && isSaid(each, rows)));
  const listed = findings.filter((each) => !each.is_note && !isWhole(each));
  const counts = [
    ...(listed.length > 0 ? [plural(listed.length, '{0} finding', '{0} findings')] : []),
    ...(notes.length > 0 ? [plural(notes.length, '{0} note', '{0} notes')] : []),
    ...(warnings.length > 0 ? [plural(warnings.length, '{0} warning', '{0} warnings')] : []),
  ];
  const all = counts.length > 0 && (
    <button
      ref={opener}
      type="button"
      class="link headline-all"
      aria-expanded={opened.value}
      aria-controls={id}
      title={counts.join(', ')}
      onClick={() => {
        opened.value = !opened.value;
      }}
    >
      <span class="sr-only">{counts.join(', ')}</span>
      <span class="headline-counts" aria-hidden="true">
        {listed.length + notes.length > 0 && counts[0]}
        {warnings.length > 0 && (
          <span class="headline-warnings">
            <Icon name="warning" />
            {String(warnings.length)}
          </span>
        )}
      </span>
    </button>
  );
  const looking = summary.looking.value;
  const searching = looking && <Searching looking={looking} summary={summary} />;
  // beside the finding, of which there are more; beside the headline where warnings are all
  const below = shown !== undefined && listed.length > 0;
  const kind = `${shown ? '' : ' only'}${failed ? ' failed' : ''}`;
  return (
    <section
      class={`headline${kind}`}
      aria-label={t('Summary')}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !opened.value) return;
        close();
        event.stopPropagation();
      }}
    >
      <div class="headline-row">
        {sentences.length === 0 && searching}
        <p
          class="headline-text"
          role="status"
          title={above.map(said).map(visible).join(' ')}
          hidden={sentences.length === 0 && searching !== null}
        >
          {above.map((sentence, index) => (
            <span key={index} class={['headline-first', 'headline-second'][index] ?? ''}>
              <Part part={sentence} session={session} isBrief figures={!hasLine(sentence)} />{' '}
            </span>
          ))}
        </p>
        <div class="headline-buttons">
          {!below && all}
          <CopySummary summary={summary} session={session} />
        </div>
      </div>
      {shown && (
        <div class="headline-row headline-finding">
          <p class="headline-text" title={visible(said(shown.sentence))}>
            <FindingText finding={shown} session={session} isBrief />
          </p>
          <FindingEnd finding={shown} session={session} copy={() => copyFinding(shown)} />
          {below && all}
        </div>
      )}
      {!next && !failed && summary.findings.value !== null && <Next {...step} />}
      {sentences.length > 0 && searching}
      <div class="headline-list" id={id} hidden={!opened.value}>
        <IconButton icon="close" label={t('Close')} press={close} class="headline-close" />
        {listed.length > 0 && <h2>{t('Findings')}</h2>}
        <ol>
          {listed.map((finding, index) => (
            <li key={index}>
              <Finding finding={finding} session={session} copy={() => copyFinding(finding)} />
            </li>
          ))}
        </ol>
        {notes.length > 0 && <h2>{t('Notes')}</h2>}
        <ul class="headline-notes">
          {notes.map((finding, index) => (
            <li key={index}>
              <Finding finding={finding} session={session} copy={() => copyFinding(finding)} />
            </li>
          ))}
        </ul>
        {warnings.length > 0 && <h2>{t('Warnings')}</h2>}
        <Warnings warnings={warnings} />
      </div>
    </section>
  );
}

/** In place of the findings while they are being made, and after that was given up. */
function Searching({ looking, summary }: { readonly looking: Looking; readonly summary: Summary }): VNode {
  const goesOn = looking !== 'ended';
  return (
    <p class="headline-searching">
      {goesOn && (
        <>
          <span role="status">{t('Looking for findings…')}</span>
          <progress max={1} value={looking.fraction} aria-label={t('Looking for findings')} />
        </>
      )}
      <Link
        text={goesOn ? t('Cancel') : t('Look for findings')}
        title={goesOn ? t('Do not look for findings now') : t('Look for findings')}
        press={goesOn ? summary.stop : summary.findAgain}
      />
    </p>
  );
}

function Next({ text, link, press }: NextStep): VNode {
  return (
    <div class="headline-row headline-next">
      <p class="headline-text">
        <strong class="headline-rule">{t('Next')}:</strong>{' '}
        <Phrase text={text} parts={[<Link text={link} title={t('Compare…')} press={press} />]} />
      </p>
    </div>
  );
}

/** A part and all that it is made of. */
function partsOf(part: TextPart): readonly TextPart[] {
  return [part, ...Object.values(part.values).flatMap(partsOf)];
}

/** Whether a headline says a finding: word by word, its beginning if others are joined to it, or its line with its bytes. */
function isSaid(finding: SnapshotFinding, headline: HeadlineAnswer): boolean {
  const { rule, text, line, figure, evidence, evidence_from: joined } = finding;
  if (rule === headline.rule || headline.text.includes(text)) return true;
  if (joined.length && headline.sentences.some((each) => text.startsWith(each.text))) return true;
  const parts = headline.sentences.flatMap(partsOf);
  // what has no line is known by the filter that finds it
  const filter = evidence?.of.filter ?? '';
  return (
    parts.some((part) =>
      line ? part.line?.frame === line.frame : filter !== '' && part.evidence?.of.filter === filter,
    ) && parts.some((part) => part.figure?.amount === figure.amount && part.figure.unit === figure.unit)
  );
}

function Warnings({ warnings }: { readonly warnings: readonly FileWarning[] }): VNode {
  return (
    <ul class="warnings">
      {warnings.map(({ message }, index) => (
        <li key={index}>
          <Said text={message} />
        </li>
      ))}
    </ul>
  );
}

interface FindingProps {
  readonly finding: SnapshotFinding;
  readonly session: FindingSession;
  /** As Markdown. */
  readonly copy: () => void;
}

/** A finding in a sentence, with its evidence and its line a click away. */
export function Finding(props: FindingProps): VNode {
  return (
    <>
      <FindingText {...props} /> <FindingEnd {...props} />
    </>
  );
}

function FindingText({
  finding,
  session,
  isBrief = false,
}: Omit<FindingProps, 'copy'> & { readonly isBrief?: boolean }): VNode {
  const { sentence, line, inferred } = finding;
  const title = named(finding.title);
  const linked = partsOf(sentence).some(
    (part) => part.line !== null && part.line.frame === line?.frame && !showsObjects(part, session),
  );
  const marked = finding.text.includes('(inferred)');
  return (
    <>
      <strong class="headline-rule">{visible(title)}:</strong>{' '}
      <Part part={sentence} session={session} isBrief={isBrief} figures={!hasLine(sentence)} />
      {inferred && !marked && <span class="muted"> ({t('inferred')})</span>}
      {line && !linked && (
        <>
          {' '}
          <Link
            text={atLine(baseName(line.file), line.line)}
            title={t('Open {0}', atLine(line.file, line.line))}
            press={(beside) => session.openFrame(line, beside)}
          />
        </>
      )}
    </>
  );
}

function FindingEnd({ finding: { title, evidence, objects }, session, copy }: FindingProps): VNode {
  return (
    <span class="finding-end">
      {evidence && (
        <Link text={t('Show')} title={t('Show the evidence')} press={() => session.showEvidence(evidence)} />
      )}
      {objects && session.showObjects && (
        <Link
          text={t('Show')}
          title={t('Show the objects')}
          press={() => {
            session.showObjects?.(objects);
          }}
        />
      )}{' '}
      <button
        type="button"
        class="icon-button finding-copy"
        title={t('Copy as Markdown')}
        aria-label={visible(t('Copy “{0}” as Markdown', named(title)))}
        onClick={copy}
      >
        <Icon name="copy" />
      </button>
    </span>
  );
}

/** Whether a sentence has a link to a line: its figures are none then, so that what is beside each other does one thing. */
function hasLine(sentence: TextPart): boolean {
  return partsOf(sentence).some(({ line }) => line !== null);
}

/** Whether a click on a part shows objects: a line of its own is then for Ctrl+click alone. */
function showsObjects({ evidence, objects, line }: TextPart, { showObjects }: FindingSession): boolean {
  return objects !== null && showObjects !== null && (line !== null || evidence === null);
}

interface PartProps {
  readonly part: TextPart;
  readonly session: FindingSession;
  /** Without what follows the first of its sentences. */
  readonly isBrief?: boolean;
  /** Whether amounts lead to what has them. */
  readonly figures?: boolean;
  /** The brackets and marks that stand next to it. */
  readonly before?: string;
  readonly after?: string;
}

const OPENING = /[([{“‘«]+$/;
const CLOSING = /^[)\]}”’».,;:!?…]+/;

/** A sentence or a piece of one; no line begins or ends between a link and the marks beside it. */
function Part({ part, session, isBrief = false, figures = true, before = '', after = '' }: PartProps): VNode {
  const link = linkOf(part, session, figures);
  if (link)
    return before + after === '' ? (
      link
    ) : (
      <span class="headline-kept">
        {before}
        {link}
        {after}
      </span>
    );
  if (part.template === '')
    return (
      <>
        {before}
        <bdi>{visible(said(part))}</bdi>
        {after}
      </>
    );
  // words stand before, between and after the values
  const every = pieces(part.template, part.values, (value) => value);
  const all = [...(isBrief ? firstSentence(every) : every)];
  const last = all.length - 1;
  const words = (at: number): string => {
    const piece = all[at];
    return typeof piece === 'string' ? piece : '';
  };
  all[0] = `${before}${words(0)}`;
  all[last] = `${words(last)}${after}`;
  return (
    <>
      {all.map((piece, at) => {
        if (typeof piece === 'string')
          return piece.replace(at > 0 ? CLOSING : '', '').replace(at < last ? OPENING : '', '');
        const marks = {
          before: OPENING.exec(words(at - 1))?.[0] ?? '',
          after: CLOSING.exec(words(at + 1))?.[0] ?? '',
        };
        return (
          <Part key={at} part={piece} session={session} isBrief={isBrief} figures={figures} {...marks} />
        );
      })}
    </>
  );
}

type Pieces = readonly (string | TextPart)[];

/** The pieces of a text up to the end of its first sentence, or the first of several texts in a row. */
function firstSentence(all: Pieces): Pieces {
  const [, first] = all;
  const isRow = all.length > 3 && all.every((piece) => typeof piece !== 'string' || piece.trim() === '');
  if (isRow && typeof first === 'object' && /[.!?]$/.test(first.text)) return [...all.slice(0, 2), ''];
  for (const [at, piece] of all.entries()) {
    const end = typeof piece === 'string' ? piece.search(/[.!?] /) : -1;
    if (end >= 0 && typeof piece === 'string') return [...all.slice(0, at), piece.slice(0, end + 1)];
  }
  return all;
}

/** Whether a text has more than one sentence. */
function hasMore({ template, values }: TextPart): boolean {
  const all = pieces(template, values, (value) => value);
  return firstSentence(all) !== all || all.some((piece) => typeof piece !== 'string' && hasMore(piece));
}

/** What leads somewhere, as a link; null for what doesn't. */
function linkOf(part: TextPart, session: FindingSession, figures: boolean): VNode | null {
  const { line, evidence, objects } = part;
  const text = said(part);
  // an object is shown by a click, as everywhere, and its source opened by Ctrl+click
  if (objects && showsObjects(part, session)) {
    const source = line && t('Ctrl+click: open {0}', atLine(line.file, line.line));
    return (
      <Link
        text={text}
        title={[t('Show the objects'), ...(source ? [source] : [])].join(' · ')}
        press={(beside) => {
          if (line && beside) session.openFrame(line, false);
          else session.showObjects?.(objects);
        }}
      />
    );
  }
  if (line)
    return (
      <Link
        text={text}
        title={t('Open {0}', atLine(line.file, line.line))}
        press={(beside) => session.openFrame(line, beside)}
      />
    );
  if (evidence && (figures || part.figure === null))
    return <Link text={text} title={t('Show the evidence')} press={() => session.showEvidence(evidence)} />;
  return null;
}

interface LinkProps {
  readonly text: string;
  readonly title: string;
  readonly press: (beside: boolean) => void;
}

function Link({ text, title, press }: LinkProps): VNode {
  return (
    <button
      type="button"
      class="link"
      title={visible(title)}
      onClick={(event) => press(event.ctrlKey || event.metaKey)}
    >
      <bdi>{visible(text)}</bdi>
    </button>
  );
}
