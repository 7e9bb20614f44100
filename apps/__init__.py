"""One file an analysis; each imports only the public names of `tornado`."""
