import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

def parse(data: Buffer, out: npt.NDArray[np.int64]) -> int: ...
