"""Programs that count the edges among a vertex's neighbours: a main loop keeps the graph, and its branches count."""
