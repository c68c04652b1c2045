import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RequestError, type Pending } from '../../webview/src/base/request';
import { Latest } from '../../webview/src/base/latest';

interface Question {
  readonly pending: Pending<string>;
  readonly answer: (text: string) => void;
  readonly fail: (error: Error) => void;
  cancelled: boolean;
}

function question(): Question {
  let answer: Question['answer'] | undefined;
  let fail: Question['fail'] | undefined;
  const promise = new Promise<string>((resolve, reject) => {
    answer = resolve;
    fail = reject;
  });
  const made: Question = {
    pending: {
      answer: promise,
      cancel: () => {
        made.cancelled = true;
      },
    },
    answer: (text) => answer?.(text),
    fail: (error) => fail?.(error),
    cancelled: false,
  };
  return made;
}

const problem = (code: string): RequestError =>
  new RequestError({ code, message: code, advice: '', offset: null, retry: false });

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the latest of several questions', () => {
  const seen: string[] = [];
  const ask = (latest: Latest, { pending }: Question): void => {
    latest.ask(
      pending,
      (text) => seen.push(text),
      (error) => seen.push(String(error)),
    );
  };

  it('is the only one that is answered', async () => {
    seen.length = 0;
    const latest = new Latest();
    const [first, second] = [question(), question()];
    ask(latest, first);
    ask(latest, second);
    assert.deepEqual([first.cancelled, second.cancelled], [true, false]);
    second.answer('second');
    first.answer('first, too late');
    await settled();
    assert.deepEqual(seen, ['second']);
    assert.equal(latest.asking, false);
  });

  it('reports what went wrong with it, and nothing of one that was cancelled or replaced', async () => {
    seen.length = 0;
    const latest = new Latest();
    const [first, second, third] = [question(), question(), question()];
    ask(latest, first);
    ask(latest, second);
    first.fail(problem('internal'));
    second.fail(problem('cancelled'));
    await settled();
    assert.deepEqual(seen, []);
    ask(latest, third);
    third.fail(problem('damaged'));
    await settled();
    assert.deepEqual(seen, ['RequestError: damaged']);
  });

  it('is nobody’s once it is cancelled', async () => {
    seen.length = 0;
    const latest = new Latest();
    const only = question();
    ask(latest, only);
    latest.cancel();
    only.answer('too late');
    await settled();
    assert.deepEqual([only.cancelled, seen.length, latest.asking], [true, 0, false]);
  });
});
