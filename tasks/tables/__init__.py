"""The tables that steps read and write, as arrays."""
