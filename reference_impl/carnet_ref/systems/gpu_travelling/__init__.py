"""GPU Travelling: its roles, key schedules, parties, weakened designs and exploits."""
