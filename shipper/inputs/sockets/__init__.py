"""Receive events over tcp, udp and unix sockets, also as syslog.

Guarantee: what the kernel has taken is given out, also at a stop, and goes through the queue on disk, because no one
sends it again: the peer's TCP knows only that it has arrived. What is neither delivered nor on disk when the agent ends
or is killed is lost; a stop counts and logs it. Connections wait while too much waits here; datagrams that the kernel
drops then are counted. Each run of an input has its own file id, and offsets count the bytes of its messages in the
order of delivery.
"""
