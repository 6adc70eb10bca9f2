"""Finds the cloud of this machine and its metadata, for the processor add_cloud_metadata.

Every cloud has a service that its machines ask without a password, most of them at 169.254.169.254. `service` asks one,
within bounds; `providers` knows what to ask and which fields the answer has; `search` asks all of them at once.
"""
