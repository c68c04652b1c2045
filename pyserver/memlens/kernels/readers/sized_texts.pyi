import numpy as np
import numpy.typing as npt

def count_texts(data: npt.NDArray[np.uint8]) -> tuple[int, int, int]: ...
def copy_texts(
    data: npt.NDArray[np.uint8], utf8: npt.NDArray[np.uint8], end: npt.NDArray[np.uint64]
) -> None: ...
