"""Checkpoints: sharded, hashed, and either complete under their name or not there at all."""
