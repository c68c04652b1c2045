from memlens.packs.jvm.kernels.hprof import Records
from memlens.packs.jvm.kernels.hprof_survey import Survey

class Order(Survey):
    redirected: int
    def __init__(self, records: Records, start: int, keeps_numbers: bool, keeps_order: bool) -> None: ...
