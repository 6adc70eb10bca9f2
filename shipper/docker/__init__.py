"""Docker's Engine API, as far as its containers are concerned, without a library.

`client` asks it, `containers` has what it answers, and `watcher` keeps the containers of one daemon as they are now: it
is what the processor add_docker_metadata asks, and it calls back what is to start and stop with containers.
"""
