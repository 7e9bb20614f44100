"""Linear models: a loss, penalties, and the methods that find their optimum."""
