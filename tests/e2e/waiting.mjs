// How long the tests wait, and whether what they waited for happened.

/** Long enough for a machine with two busy cores. */
export const TIMEOUT_MS = 60_000;

/** Whether something happens before the time is over. */
export const came = (waiting) =>
  waiting.then(
    () => true,
    () => false,
  );

/** Polls until a condition in the test's process holds. */
export async function until(condition, what, timeoutMs = TIMEOUT_MS) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`Waited ${timeoutMs / 1000} s in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
