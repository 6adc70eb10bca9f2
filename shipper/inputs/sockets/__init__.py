"""Inputs that listen: tcp, udp, unix and syslog.

What they guarantee: what the kernel has taken is given out, also at a stop, and goes through the queue on disk, because
no one sends it again: the peer's TCP knows that it has arrived, and no more. What is neither delivered nor on disk when
the agent ends or is killed is lost; a stop counts and logs it. Connections wait while too much waits here, and
datagrams that the kernel drops then are counted. Each run of an input has a file id of its own, and offsets count the
bytes of its messages in the order in which they are given out.
"""
