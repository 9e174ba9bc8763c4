package onnx

// Field numbers of onnx.proto (ONNX IR version 9), as far as they are used.
const (
	modelIR, modelProducer, modelGraph, modelOpset = 1, 2, 7, 8

	opsetDomain, opsetVersion = 1, 2

	graphNode, graphName, graphInitializer, graphInput, graphOutput = 1, 2, 5, 11, 12

	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute, nodeDomain = 1, 2, 3, 4, 5, 7

	attributeName, attributeFloat, attributeInt, attributeGraph, attributeIntList, attributeType = 1, 2, 3, 6, 8, 20

	tensorDims, tensorType, tensorName, tensorRaw, tensorExternal, tensorLocation = 1, 2, 8, 9, 13, 14

	entryKey, entryValue = 1, 2

	valueName, valueType = 1, 2

	typeTensor           = 1
	tensorElem, tensorSh = 1, 2
	shapeDim             = 1
	dimValue, dimParam   = 1, 2
)

// Values of AttributeProto.type.
const (
	attributeIsFloat = 1
	attributeIsInt   = 2
	attributeIsGraph = 5
	attributeIsInts  = 7
)

// locationExternal is TensorProto.data_location of external data.
const locationExternal = 1

// ElemType is an element type by ONNX's number (TensorProto.DataType).
type ElemType int32

// The element types that encoders use.
const (
	Float32  ElemType = 1
	Int32    ElemType = 6
	Int64    ElemType = 7
	Bool     ElemType = 9
	Float16  ElemType = 10
	Float64  ElemType = 11
	BFloat16 ElemType = 16
)

var elemNames = map[ElemType]string{
	Float32: "float32", Float64: "float64", Int32: "int32", Int64: "int64", Bool: "bool", Float16: "float16", BFloat16: "bfloat16",
}
