"""Packed datasets: made once by `pack`, read through memory maps, ordered without state."""
