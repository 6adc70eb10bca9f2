"""The shipper's options: `model.ShipperConfig`, and a module for each of its blocks."""
