"""Hot loops over the bytes of .NET's files."""
