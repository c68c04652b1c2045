"""Which setting the limit of a control group is, by the names of its folders."""

import re

from memlens.texts import Text, phrase
from memlens.units import plain_name

_UNIT = re.compile(r"([\w@:.\\-]{1,200}\.(?:service|scope|slice))(?:/|$)")


def limit_of_group(path: str) -> Text:
    """What set the limit of a group, as far as its path says so."""
    if "kubepods" in path:
        return phrase(
            "The limit is Kubernetes's: resources.limits.memory of the container, or of its pod's containers together."
        )
    if re.search(r"/slurm|slurmstepd", path):
        return phrase("The limit is Slurm's: --mem or --mem-per-cpu of the job.")
    if "docker" in path:
        return phrase("The limit is Docker's: --memory of docker run, or mem_limit of a compose file.")
    if "libpod" in path:
        return phrase("The limit is Podman's: --memory of podman run.")
    units = _UNIT.findall(path)
    if units:
        return phrase("The limit is systemd's: MemoryMax= of {unit}.", unit=plain_name(units[-1]))
    if path:
        return phrase(
            "The limit is memory.max of the control group {path} (memory.limit_in_bytes in version 1).",
            path=plain_name(path),
        )
    return phrase("The limit is memory.max of its control group (memory.limit_in_bytes in version 1).")
