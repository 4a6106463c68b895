"""What this repository deploys: one module a cluster."""
