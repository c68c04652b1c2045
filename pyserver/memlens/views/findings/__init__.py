"""What a snapshot says in a sentence or two, and a ranked list of what is worth a look in it."""
