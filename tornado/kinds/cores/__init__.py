"""Core numbers: estimates that are never too low fall to what their neighbours support, and rise again by waves."""
