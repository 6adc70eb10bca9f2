"""Positions of files, safe on disk. Imports nothing of ours; `store.py` describes the format."""
