"""Programs that choose a value among offers: compiled loops, which withdraw in waves what hung on an edge that went."""
