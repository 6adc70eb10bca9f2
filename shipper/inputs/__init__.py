"""Where batches come from: files, standard input, and the feeds.

What inputs of files guarantee: each byte of a file that is found is sent at least once, under one name (file id,
offset), whatever is renamed, copied or truncated, and exactly once where the output commits the positions in its
transactions. What cannot be read any more is counted and logged.
"""
