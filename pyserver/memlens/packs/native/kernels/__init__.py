"""Hot loops over recordings and profiles of native programs."""
