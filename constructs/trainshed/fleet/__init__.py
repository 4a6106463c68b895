"""The read half's ground: manifests with their positions, and what was wrong with the text they stand in."""
