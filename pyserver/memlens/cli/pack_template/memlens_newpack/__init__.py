"""The world of newpack: its profiles, and whose code their frames are.

Memlens reads this declaration often and the rest seldom, so it imports nothing but ``memlens.packs.api``.
"""

from memlens.packs.api import Format, Pack, Part

PACK = Pack(
    name="newpack",
    title="newpack",
    libraries=("newpack",),
    formats=(Format(name="newpack", title="newpack profile", reader=Part("memlens_newpack.reader")),),
)
