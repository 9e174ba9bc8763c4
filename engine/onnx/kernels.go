package onnx

import "slices"

// KernelSource names where Kernels was read: the list of kernels of the ONNX Runtime
// repository, in the newest state of it that was at hand, of a main branch later than
// 1.24; which inputs lie in the host's memory is from the registrations of the kernels
// in the same repository. The providers pinned in bench/assets are of 1.31.1 for CUDA 13 and
// 1.26.0 for CUDA 12; both libraries have the class of every operator listed, and of its
// types where a class is of one.
const KernelSource = "onnxruntime docs/OperatorKernels.md, CUDAExecutionProvider, commit 001d12d2623fd411ce0f83d05abb5e82304a3389"

// Kernel is an operator that ONNX Runtime's CUDA provider computes, as far as built
// graphs use it.
type Kernel struct {
	Domain, Op string
	// Since and Until are the versions of the operator set that the kernel is for;
	// Until 0 is all later ones.
	Since, Until int
	// In and Out are the types that each input and output may have; the last of a list
	// is for all that follow.
	In, Out [][]ElemType
	// Host are the inputs that the kernel reads in the host's memory.
	Host []int
	// HostOut says that the output lies in the host's memory.
	HostOut bool
}

var (
	floats  = []ElemType{Float32, Float16, BFloat16}
	halves  = []ElemType{Float16, BFloat16}
	wholes  = []ElemType{Int32, Int64}
	numbers = []ElemType{Float32, Float16, BFloat16, Float64, Int32, Int64}
	ordered = []ElemType{Float32, Float16, Float64, Int32, Int64}
	all     = []ElemType{Float32, Float16, BFloat16, Float64, Int32, Int64, Bool}
	int64s1 = []ElemType{Int64}
	int32s1 = []ElemType{Int32}
	bools   = []ElemType{Bool}
	reduced = []ElemType{Float32, Float16, Float64, Int32}
)

func types(lists ...[]ElemType) [][]ElemType { return lists }

// Kernels are the operators that a graph for CUDA may have. What is computed once, when
// a session loads the graph, is computed on the CPU and needs no kernel here.
var Kernels = []Kernel{
	{"", "Abs", 13, 0, types(numbers), types(numbers), nil, false},
	{"", "Add", 14, 0, types(numbers), types(numbers), nil, false},
	{"", "And", 7, 0, types(bools), types(bools), nil, false},
	{"", "Cast", 13, 18, types(all), types(all), nil, false},
	{"", "Clip", 13, 0, types([]ElemType{Float32, Float16, Float64, Int64}), types([]ElemType{Float32, Float16, Float64, Int64}), []int{1, 2}, false},
	{"", "Concat", 13, 0, types(all), types(all), nil, false},
	{"", "Div", 14, 0, types(numbers), types(numbers), nil, false},
	{"", "Expand", 13, 0, types(all, int64s1), types(all), []int{1}, false},
	{"", "Gather", 13, 0, types(all, wholes), types(all), nil, false},
	{"", "GreaterOrEqual", 16, 0, types(ordered), types(bools), nil, false},
	{"", "Identity", 14, 18, types(all), types(all), nil, false},
	{"", "LayerNormalization", 17, 0, types(floats), types(floats), nil, false},
	{"", "Less", 13, 0, types(ordered), types(bools), nil, false},
	{"", "LessOrEqual", 16, 0, types(ordered), types(bools), nil, false},
	{"", "MatMul", 13, 0, types(floats), types(floats), nil, false},
	{"", "Max", 13, 0, types(numbers), types(numbers), nil, false},
	{"", "Min", 13, 0, types(numbers), types(numbers), nil, false},
	{"", "Mul", 14, 0, types(numbers), types(numbers), nil, false},
	{"", "Range", 11, 0, types([]ElemType{Float32, Float64, Int32, Int64}), types([]ElemType{Float32, Float64, Int32, Int64}), []int{0, 1, 2}, false},
	{"", "ReduceMax", 18, 0, types([]ElemType{Float32, Float16, Float64, Int32, Int64}, int64s1), types(ordered), []int{1}, false},
	{"", "ReduceMean", 18, 0, types(reduced, int64s1), types(reduced), []int{1}, false},
	{"", "ReduceSum", 13, 0, types(numbers, int64s1), types(numbers), []int{1}, false},
	{"", "Relu", 14, 0, types(floats), types(floats), nil, false},
	{"", "Reshape", 14, 18, types(all, int64s1), types(all), []int{1}, false},
	{"", "Shape", 15, 18, types(all), types(int64s1), nil, true},
	{"", "SimplifiedLayerNormalization", 1, 0, types(floats), types(floats), nil, false},
	{"", "Slice", 13, 0, types(all, wholes), types(all), []int{1, 2, 3, 4}, false},
	{"", "Softmax", 13, 0, types(floats), types(floats), nil, false},
	{"", "Sqrt", 13, 0, types(floats), types(floats), nil, false},
	{"", "Squeeze", 13, 20, types(all, int64s1), types(all), []int{1}, false},
	{"", "Sub", 14, 0, types(numbers), types(numbers), nil, false},
	{"", "Tanh", 13, 0, types(floats), types(floats), nil, false},
	{"", "Transpose", 13, 20, types(all), types(all), nil, false},
	{"", "Unsqueeze", 13, 20, types(all, int64s1), types(all), []int{1}, false},
	{"", "Where", 16, 0, types(bools, []ElemType{Float32, Float16, BFloat16, Float64, Int32, Int64}), types(numbers), nil, false},
	{microsoft, "FastGelu", 1, 0, types(floats), types(floats), nil, false},
	{microsoft, "FusedMatMul", 1, 0, types(floats), types(floats), nil, false},
	{microsoft, "Gelu", 1, 0, types(floats), types(floats), nil, false},
	{microsoft, "GroupQueryAttention", 1, 0, types(halves, halves, halves, halves, halves, int32s1, int32s1), types(halves), []int{6}, false},
	{microsoft, "MultiHeadAttention", 1, 0, types(floats, floats, floats, floats, int32s1, floats), types(floats), []int{8}, false},
	{microsoft, "QuickGelu", 1, 0, types(floats), types(floats), nil, false},
	{microsoft, "RotaryEmbedding", 1, 0, types(floats, int64s1, floats, floats), types(floats), nil, false},
}

// kernel finds the kernel of a node, of the operator sets of built graphs.
func kernel(n *Node) (*Kernel, bool) {
	version := opsetStandard
	if n.Domain != "" {
		version = 1
	}
	for i := range Kernels {
		k := &Kernels[i]
		if k.Domain == n.Domain && k.Op == n.Op && k.Since <= version && (k.Until == 0 || version <= k.Until) && fits(k.In, n.In) && fits(k.Out, n.Out) {
			return k, true
		}
	}
	return nil, false
}

// fits says whether the types of values are among those allowed; 0 is a value left out.
func fits(allowed [][]ElemType, elems []ElemType) bool {
	for i, e := range elems {
		if e != 0 && !slices.Contains(allowed[min(i, len(allowed)-1)], e) {
			return false
		}
	}
	return true
}
