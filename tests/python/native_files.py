"""Heap dumps in which objects own memory outside of the heap, by the classes of Android and of Java."""

from tests.python.hprof_files import INT, LONG, OBJECT, Dump

NODE_CLASS = 0x900
FIRST_NODE = 0x10_0000


class NativeDump(Dump):
    """A dump with the classes that free memory; ids below 0x10000 are of classes."""

    def __init__(self, version: str = "1.0.2", first: int = 0x20_0000) -> None:
        super().__init__(version)
        self.next = first
        base = self.klass(0x100, "java/lang/Object")
        self.klass(0x120, "java/lang/Class", base)
        self.object_class = base
        reference = self.klass(
            0x200, "java/lang/ref/Reference", base, [("referent", OBJECT), ("next", OBJECT)]
        )
        phantom = self.klass(0x220, "java/lang/ref/PhantomReference", reference)
        self.cleaner_class = self.klass(
            0x240, "sun/misc/Cleaner", phantom, [("next", OBJECT), ("prev", OBJECT), ("thunk", OBJECT)]
        )
        self.registry_class = self.klass(
            0x300, "libcore/util/NativeAllocationRegistry", base, [("size", LONG)]
        )
        self.thunk_class = self.klass(
            0x320,
            "libcore/util/NativeAllocationRegistry$CleanerThunk",
            base,
            [("nativePtr", LONG), ("this$0", OBJECT)],
        )
        self.deallocator_class = self.klass(
            0x340,
            "java/nio/DirectByteBuffer$Deallocator",
            base,
            [("address", LONG), ("size", LONG), ("capacity", INT)],
        )
        unmapper = self.klass(
            0x360, "sun/nio/ch/FileChannelImpl$Unmapper", base, [("address", LONG), ("size", LONG)]
        )
        self.unmapper_class = self.klass(0x380, "sun/nio/ch/FileChannelImpl$DefaultUnmapper", unmapper)
        buffer = self.klass(0x3A0, "java/nio/Buffer", base, [("capacity", INT), ("address", LONG)])
        self.buffer_class = self.klass(
            0x3C0, "java/nio/DirectByteBuffer", buffer, [("att", OBJECT), ("cleaner", OBJECT)]
        )

    def id(self) -> int:
        """An id that no object has yet."""
        self.next += 0x20
        return self.next

    def cleaner(self, owner: int, thunk: int, *, has_run: bool = False) -> int:
        own = self.id()
        following = own if has_run else 0
        # next, prev, thunk; then Reference's referent and next
        return self.instance(own, self.cleaner_class, "PPPPP", following, following, thunk, owner, 0)

    def register(self, owner: int, size: int, *, has_run: bool = False) -> None:
        """Memory of Android's: a registry, and what refers to it."""
        registry = self.instance(self.id(), self.registry_class, "q", size)
        thunk = self.instance(self.id(), self.thunk_class, "qP", 0x7000, registry)
        self.cleaner(owner, thunk, has_run=has_run)

    def buffer(self, capacity: int, *, att: int = 0, cleaner: int = 0, own_id: int = 0) -> int:
        """A direct buffer."""
        return self.instance(own_id or self.id(), self.buffer_class, "PPiq", att, cleaner, capacity, 0x7000)


def small() -> bytes:
    """Memory that is freed in each way."""
    dump = NativeDump()
    owner = dump.instance(dump.id(), dump.object_class)
    dump.register(owner, 1000)
    dump.add(0xFF, "P", owner)
    buffer = dump.id()
    freeing = dump.instance(dump.id(), dump.deallocator_class, "qqi", 0x7000, 8192, 5000)
    dump.buffer(5000, cleaner=dump.cleaner(buffer, freeing), own_id=buffer)
    mapped = dump.id()
    dump.cleaner(mapped, dump.instance(dump.id(), dump.unmapper_class, "qq", 0x7000, 4096))
    dump.buffer(4096, own_id=mapped)
    dump.buffer(600)
    return dump.end()
