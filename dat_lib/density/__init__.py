"""Local density of a query among the references of each group."""
