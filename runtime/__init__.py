"""What the shipper and the sink both run on. Only `kafka` and `logs` import anything of ours from
outside this package: the engine of the options that the two share.

disk        the one door to the disk for whatever must survive a crash: open, write, fsync, rename, the directory of a
            name. A path that leads to the wrong kind of thing, which no retry mends, raises `Misplaced` of
            `disk_errors`; a disk that refuses a write raises a plain OSError
locking     the lock that keeps a second writer out
logs        log lines: their options, formats, files, a throttle, the last warnings
sockets     sockets that listen, at an address or at a path
http        the HTTP client
monitor     the HTTP server, what asks a running program, and the page that both show
completion  shell completion, from a command line
manual      manual pages, from a command line and the page of all options
systemd     reports to the service manager that has started the program
kafka       clients of librdkafka, with TLS, SASL and Kerberos; and the options for these
"""
