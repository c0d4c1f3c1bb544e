"""The paper's diagnostics, one module per kind."""
