// How long the tests wait, and whether what they waited for happened.

/** Long enough for a machine with two busy cores. */
export const TIMEOUT_MS = 60_000;

/** Whether something happens before the time is over. */
export const came = (waiting) =>
  waiting.then(
    () => true,
    () => false,
  );
