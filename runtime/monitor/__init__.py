"""The HTTP server and the status page, shared by the shipper and the sink."""
