"""Specs: datasets, backbones, prompt sets, method settings and suites, as TOML files."""
