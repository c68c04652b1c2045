// How long the tests wait, and whether what they waited for came.

/** Generous: the machine may have two busy cores. */
export const TIMEOUT_MS = 60_000;

/** Whether something that is waited for came before its time was over. */
export const came = (waiting) =>
  waiting.then(
    () => true,
    () => false,
  );
