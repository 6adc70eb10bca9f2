"""Receive events in the bodies of HTTP requests.

Guarantee: a request is answered with success when all of its events are delivered or on disk, so a client that repeats
unanswered requests loses nothing. Received data cannot be read again: its batches go through the queue on disk. An
event is named by a random id for each run of the input, and by an offset that counts the bytes of all contents received
so far: what a client sends twice has two names.
"""
