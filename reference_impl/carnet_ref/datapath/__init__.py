"""The timed data path: what a transfer between confidential machines costs, and where the time goes.

A *schedule* is a list of tasks, each with a stage, a resource that does one thing at a time, a cost, and the tasks it
waits for. A max-plus recurrence says when every task ends; tests compare it with two other clocks, and move real bytes
through AES-256-GCM in the order that it gives. Costs come from `figures`, each with its source; a figure nobody has
published is an interval.
"""
