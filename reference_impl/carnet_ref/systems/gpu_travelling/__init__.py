"""GPU Travelling: its roles, key schedules, parties, ablations and exploits."""
