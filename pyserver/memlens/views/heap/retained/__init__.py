"""What would be freed without objects, types, threads or references."""
