"""What a served stream takes in: pushes and their log, names behind ids, batches in parts, checkpoints."""
