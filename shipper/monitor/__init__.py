"""What a running shipper shows of itself: snapshots, the documents and metrics made of them, and who serves them."""
