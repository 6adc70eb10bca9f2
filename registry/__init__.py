"""Save the positions of files on disk. Imports nothing of ours; `store.py` describes the format."""
