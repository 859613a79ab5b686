#!/bin/sh
# Tool:  networkx 3.6.1 with pydot 4.0.1, 2026-11-29.
# Guess: the graph that is read from DOT has every node and edge of the file.
# Seen:  what stands in a subgraph is gone. In "digraph { subgraph cluster_gpu { x -> y } y -> z }" networkx has neither the node x nor the
#        edge from x to y: get_nodes() and get_edges() of pydot list what stands outside, and so reads networkx. No message.
# So:    a drawing with clusters is not read back as a graph of states.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q networkx==3.6.1
venv/bin/pip install -q pydot==4.0.1
venv/bin/python -W ignore - <<'EOF'
import networkx
import pydot


def read(text: str) -> tuple[set[str], set[tuple[str, str]]]:
    (drawn,) = pydot.graph_from_dot_data(text)
    graph = networkx.nx_pydot.from_pydot(drawn)
    return set(graph.nodes), {(start, end) for start, end, _ in graph.edges}


assert read("digraph { x; x -> y; y -> z }") == ({"x", "y", "z"}, {("x", "y"), ("y", "z")})
assert read("digraph { subgraph cluster_gpu { x; x -> y } y -> z }") == ({"y", "z"}, {("y", "z")})
EOF
echo "holds: pydot-nodes-in-a-cluster"
