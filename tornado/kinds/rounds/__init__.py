"""Programs whose definition counts rounds: a vertex has a value at every round, made of what its neighbours had one round before."""
