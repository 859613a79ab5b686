#!/bin/sh
# Tool:  networkx 3.6.1, 2026-11-29.
# Guess: a node from which a cycle leads back to it is one of its own descendants, as the transitive closure has it.
# Seen:  descendants and ancestors leave the node out, whether it lies on a cycle or not; transitive_closure has the edge to itself
#        there, and none elsewhere.
# So:    whether a state is reached again is not asked by descendants.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q networkx==3.6.1
"$scratch/venv/bin/python" - <<'EOF'
import networkx

graph = networkx.DiGraph([("idle", "busy"), ("busy", "idle"), ("busy", "stopped")])
closure = networkx.transitive_closure(graph)
assert [node for node in graph if closure.has_edge(node, node)] == ["idle", "busy"]
assert networkx.descendants(graph, "idle") == {"busy", "stopped"}
assert networkx.ancestors(graph, "idle") == {"busy"}
EOF
echo "holds: networkx-nodes-on-a-cycle"
