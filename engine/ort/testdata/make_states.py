"""Writes states.onnx: a token-state "encoder" for tests, 13 ids by 4 values.

A row's state at position t is table[id] + type: enough to see that ids, types
and the order of rows arrive, and that pooling outside the graph ignores padding
(the table's padding row is large). Inputs are those of the usual exports.
Needs `pip install onnx numpy`; the result is committed.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

table = (np.arange(13 * 4, dtype=np.float32).reshape(13, 4) - 20) / 8
table[0] = 1000
names = ["input_ids", "attention_mask", "token_type_ids"]
inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"]) for n in names]
output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", 4])
nodes = [
    helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
    helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
    helper.make_node("Unsqueeze", ["types", "last"], ["column"]),
    helper.make_node("Add", ["rows", "column"], ["last_hidden_state"]),
]
initializers = [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2], dtype=np.int64), "last")]
graph = helper.make_graph(nodes, "states", inputs, [output], initializers)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "states.onnx")
