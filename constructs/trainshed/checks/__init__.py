"""Rules that judge a fleet of manifests, by family, in one registry."""
