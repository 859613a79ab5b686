"""The platform: hypervisor, MUX, bus and network in one. Every byte passes it; only availability rests on it."""
