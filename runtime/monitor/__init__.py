"""The HTTP server and the page of the shipper and the sink: what both show, and one code for it."""
