"""The queue on disk: what the output does not take soon is written to segments, and read back in order.

`queue` decides what is written and when, and is all that the pipeline knows of it. `writer` is the thread that writes,
through `store`, which has the segments of a directory; `backlog` reads back what has left memory. A segment is a file
of frames (`frames`), each a batch (`content`); `files` is the door to the disk. `watermarks` watch how full it is.
"""
