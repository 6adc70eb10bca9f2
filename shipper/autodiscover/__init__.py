"""Inputs for containers, as they come and go.

`containers` is what a provider knows of one, `hints` and `configuring` decide which inputs it has, `discoveries` keeps
them until its files are read to their end, and the providers (`kubernetes_pods`, `docker_containers`) watch.
"""
