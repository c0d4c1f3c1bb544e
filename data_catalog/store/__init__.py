"""Artifacts on disk: written once, committed by a manifest, checked by digest."""
