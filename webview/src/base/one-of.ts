// One of a few words, whatever was kept or sent.

/** `value` if it is one of them. */
export function oneOf<T extends string>(value: unknown, all: readonly T[], otherwise: T): T {
  return all.find((each) => each === value) ?? otherwise;
}
