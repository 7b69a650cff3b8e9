"""Limited descriptors, connections and memory."""
