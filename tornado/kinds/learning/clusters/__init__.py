"""k-means: steps of a main loop, and Lloyd's iterations from basin to basin."""
