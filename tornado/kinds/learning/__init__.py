"""The kind of programs that learn from a stream of points."""
