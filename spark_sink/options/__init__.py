"""The sink's options: `model.SinkConfig`, and a module for each section."""
