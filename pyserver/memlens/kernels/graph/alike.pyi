import numpy as np
import numpy.typing as npt

def first_alike(
    data: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.uint64],
    end: npt.NDArray[np.uint64],
    seed: int,
    first: npt.NDArray[np.uint32],
) -> None: ...
