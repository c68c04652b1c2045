"""Implements ``LibraryArchives`` of ``packs/api``."""

from memlens.packs.jvm.class_archives import CLASSES, compiled_from
from memlens.packs.jvm.places import of_classes, of_source
from memlens.packs.jvm.source_archives import SOURCES, text_of

__all__ = ["CLASSES", "SOURCES", "compiled_from", "of_classes", "of_source", "text_of"]
