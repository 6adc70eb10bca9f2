"""The queue on disk: batches that the output does not take soon are written to segments, and read back in order.

`queue` decides what is written and when, and is the interface for the pipeline. `writer` is the writing thread, using
`store`, the segments of a directory; `backlog` reads back batches that have left memory. A segment is a file of frames
(`frames`), each a batch (`content`); `files` is the door to the disk. `watermarks` monitor the disk usage.
"""
