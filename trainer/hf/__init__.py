"""Training a local folder of transformers (`model.hf`), an extra: the package transformers is imported here only."""
