"""Hot loops over the packets of traces of Perfetto."""
