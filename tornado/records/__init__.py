"""What comes in, as columns with a schema: how it is checked, cut, put together and shared out."""
