"""Samples of native memory, of heapprofd in traces of Perfetto."""
