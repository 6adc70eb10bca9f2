"""Inputs for containers as they start and stop.

`containers` describes a container, `hints` and `configuring` decide which inputs it has, `discoveries` keeps them until
its files are read to their end, and the providers (`kubernetes_pods`, `docker_containers`) watch.
"""
