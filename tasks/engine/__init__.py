"""Deciding about cells, computing them and recording what came of them."""
