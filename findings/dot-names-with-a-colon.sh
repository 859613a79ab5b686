#!/bin/sh
# Tool:  networkx 3.6.1 with pydot 4.0.1, and graphviz 0.21 (all of Python), 2026-11-29.
# Guess: a graph with an edge from 'gpu:1' to 'gpu:2' has two nodes of these names in DOT, and read back.
# Seen:  to_pydot writes the node 'gpu' twice and an edge between ports 1 and 2 of it: read back, there is one node. graphviz quotes
#        the names of nodes, but not those of edges: it writes two nodes, and an edge between two ports of a third.
# So:    names are quoted before they are given to either, or have no colon.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q networkx==3.6.1 pydot==4.0.1 graphviz==0.21
"$scratch/venv/bin/python" - <<'EOF'
import graphviz
import networkx
import pydot

NODES = ("gpu:1", "gpu:2")
graph = networkx.DiGraph([NODES])
written = networkx.nx_pydot.to_pydot(graph).to_string()
assert written.split() == ["strict", "digraph", "{", "gpu;", "gpu;", "gpu:1", "->", "gpu:2;", "}"], written
(again,) = pydot.graph_from_dot_data(written)
assert sorted(networkx.nx_pydot.from_pydot(again).nodes) != sorted(NODES)
assert {node.get_name() for node in again.get_nodes()} == {"gpu"}

drawn = graphviz.Digraph()
for node in NODES:
    drawn.node(node)
drawn.edge(*NODES)
assert drawn.source.split() == ["digraph", "{", '"gpu:1"', '"gpu:2"', "gpu:1", "->", "gpu:2", "}"], drawn.source
EOF
echo "holds: dot-names-with-a-colon"
