"""The three programs that are measured. Each takes the number of tenants and writes to the folder in CDK8S_OUTDIR."""
