from memlens.arrays import F64, I64, U32

def count_until(column: U32 | I64, values: I64, counts: I64) -> None: ...
def peaks(live: I64, peaks_64: I64, peaks_4096: I64, firsts: I64, lasts: I64, moments: U32) -> None: ...
def extremes(
    live: I64,
    firsts: I64,
    lasts: I64,
    highest: F64,
    lowest: F64,
    peaks_64: I64,
    peaks_4096: I64,
    lows_64: I64,
) -> None: ...
