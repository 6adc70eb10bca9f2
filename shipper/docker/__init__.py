"""The container part of Docker's Engine API, without a library.

`client` sends requests, `containers` parses responses, and `watcher` tracks the containers of one daemon: for the
processor add_docker_metadata, and with callbacks when containers start and stop.
"""
