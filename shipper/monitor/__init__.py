"""Status of a running shipper: snapshots, the documents and metrics made of them, and their servers."""
