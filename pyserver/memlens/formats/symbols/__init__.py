"""Names of native addresses: finds the binaries that a profile names, and reads their debug information."""
