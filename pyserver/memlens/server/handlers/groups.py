"""The requests of the tree table."""

from memlens.server.protocol.base import Count, Page
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.tables import groups
from memlens.views.tables.groups import Branch, GroupOrder, GroupsAnswer, MemberOrder, MembersAnswer


@question("memlens/groups")
def _groups(
    snapshot: Snapshot, *, branch: Branch, order: GroupOrder, descending: bool, offset: Count, limit: Page
) -> GroupsAnswer:
    """The groups directly below a branch."""
    return groups.groups(snapshot, branch, order, offset, limit, descending=descending)


@question("memlens/members", name=phrase("the list of allocations in a group"))
def _members(
    snapshot: Snapshot, *, branch: Branch, order: MemberOrder, descending: bool, offset: Count, limit: Page
) -> MembersAnswer:
    """The allocations in a branch, at all levels."""
    return groups.members(snapshot, branch, order, offset, limit, descending=descending)
