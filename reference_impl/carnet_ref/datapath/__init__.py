"""The timed data path: what a transfer between confidential machines costs, and where the time goes.

A *schedule* is a list of tasks, each with a stage, a resource that does one thing at a time, a cost, and the tasks it
waits for. A max-plus recurrence says when every task ends. Tests compare it with two readers that share nothing with it
but that list: discrete events (SimPy) and the longest path of a task graph (networkx). A third moves real bytes through
AES-256-GCM in the order that the clock gives. Costs come from `figures`, each with its source; a figure nobody has
published is an interval.
"""
