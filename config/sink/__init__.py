"""What the sink can be told: `model.SinkConfig`, and a module for each of its blocks."""
