"""How findings are told: text for people, JSON, GitHub annotations, SARIF and JUnit for programs."""
