"""The requests of the tree table."""

from memlens.server.protocol.groups import GroupsParams, MembersParams
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.tables import groups
from memlens.views.tables.groups import GroupsAnswer, MembersAnswer


@question("memlens/groups")
def _groups(snapshot: Snapshot, p: GroupsParams) -> GroupsAnswer:
    return groups.groups(snapshot, p.branch, p.order, p.offset, p.limit, descending=p.descending)


@question("memlens/members", name=phrase("the list of allocations in a group"))
def _members(snapshot: Snapshot, p: MembersParams) -> MembersAnswer:
    return groups.members(snapshot, p.branch, p.order, p.offset, p.limit, descending=p.descending)
