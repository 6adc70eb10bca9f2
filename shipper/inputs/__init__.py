"""Read batches from files, standard input, and the feeds.

Guarantee of inputs of files: each byte of a file that is found is sent at least once, under one name (file id, offset),
whatever is renamed, copied or truncated, and exactly once if the output commits the positions in its transactions. Data
that cannot be read any more is counted and logged.
"""
