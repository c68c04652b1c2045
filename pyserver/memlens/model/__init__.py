"""What every format is turned into: columns that hold no trace of the format they came from."""
