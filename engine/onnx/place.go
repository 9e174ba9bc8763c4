package onnx

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Provider is where a node of a graph is computed.
type Provider uint8

const (
	// OnDevice is the CUDA provider.
	OnDevice Provider = iota
	// OnHost is the CPU provider, for numbers that follow from the shape of the inputs.
	OnHost
	// AtLoad is once, when a session loads the graph: nothing of the node is left.
	AtLoad
	// Nowhere is what the CUDA provider has no kernel for: it would go to the CPU.
	Nowhere
)

// String gives the provider as ONNX Runtime names it.
func (p Provider) String() string {
	return [...]string{"CUDAExecutionProvider", "CPUExecutionProvider", "at load", "no kernel"}[p]
}

// Node is a node of a graph for CUDA and where ONNX Runtime is expected to compute it.
type Node struct {
	Name, Domain, Op string
	In, Out          []ElemType // 0 = an input left out
	Provider         Provider
	// ToDevice and ToHost are the values that are copied before it runs.
	ToDevice, ToHost []string

	inputs, outputs []string
	to              ElemType
	branches        bool
}

func (n *Node) String() string {
	in := make([]string, len(n.In))
	for i, e := range n.In {
		if in[i] = e.String(); e == 0 {
			in[i] = "none"
		}
	}
	return fmt.Sprintf("%s %s(%s)", n.Name, strings.TrimPrefix(n.Domain+".", ".")+n.Op, strings.Join(in, ", "))
}

// Operator is how many nodes of an operator a provider is expected to compute.
type Operator struct {
	Domain, Op string
	Provider   Provider
	Count      int
}

// Operators lists the operators of nodes, by provider, domain and name: to compare with
// what a session reports. A session may have fewer nodes of an operator on the device,
// where it fuses them with others, but on the CPU no other operators than those listed
// for it.
func Operators(nodes []Node) []Operator {
	var list []Operator
	for _, n := range nodes {
		i := slices.IndexFunc(list, func(o Operator) bool {
			return o.Domain == n.Domain && o.Op == n.Op && o.Provider == n.Provider
		})
		if i < 0 {
			i, list = len(list), append(list, Operator{n.Domain, n.Op, n.Provider, 0})
		}
		list[i].Count++
	}
	slices.SortFunc(list, func(a, b Operator) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), strings.Compare(a.Domain, b.Domain), strings.Compare(a.Op, b.Op))
	})
	return list
}

// Place reads the nodes of a graph that was built for CUDA and says where each is
// expected to run, by the rules of ONNX Runtime (core/framework/fallback_cpu_capability.cc):
// what follows from initializers alone is computed at load; a node whose inputs all lie
// in the host's memory, small initializers and inputs of the graph aside, goes to the
// CPU, unless it is float16 or bfloat16 or its kernel on the device reads such an input
// from the host. The nodes on the CPU of graphs of an open shape are Squeeze,
// Add, Sub, Mul, Min, Cast, Unsqueeze and Concat of a few integers of Shape.
func Place(graph []byte) ([]Node, error) {
	g, err := readNodes(graph)
	if err != nil {
		return nil, fmt.Errorf("place the nodes of a graph: %w", err)
	}
	const (
		device = iota
		host
		folded
	)
	where := map[string]int{}
	for name := range g.small {
		where[name] = folded
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		for _, in := range n.inputs {
			n.In = append(n.In, g.elems[in])
		}
		elem := infer(n.Op, n.to, n.In)
		for _, out := range n.outputs {
			n.Out, g.elems[out] = append(n.Out, elem), elem
		}
		k, ok := kernel(n)
		constant, onHost, any := len(n.inputs) > 0, ok, false
		for i, in := range n.inputs {
			if in == "" {
				continue
			}
			constant = constant && where[in] == folded && !g.input[in]
			free := g.small[in] || g.input[in]
			any = any || where[in] == host
			if narrow(n.In[i]) || !free && where[in] != host || ok && !free && slices.Contains(k.Host, i) {
				onHost = false
			}
		}
		out := device
		switch {
		case n.branches || !ok && !constant:
			n.Provider = Nowhere
		case constant:
			n.Provider, out = AtLoad, folded
		case onHost && any:
			n.Provider, out = OnHost, host
		case k.HostOut:
			out = host
		}
		for i, in := range n.inputs {
			if in == "" || where[in] == folded || n.Provider == AtLoad || n.Provider == Nowhere {
				continue
			}
			reads := n.Provider == OnHost || slices.Contains(k.Host, i)
			switch {
			case reads && where[in] == device:
				n.ToHost = append(n.ToHost, in)
			case !reads && where[in] == host:
				n.ToDevice = append(n.ToDevice, in)
			}
		}
		for _, name := range n.outputs {
			where[name] = out
		}
	}
	return g.nodes, nil
}

// SizeNodes names the nodes of a graph for CUDA that compute whole numbers from the shape
// of the inputs alone. Wherever ONNX Runtime computes them, no value of a state goes to the
// host; those that Place gives the host are among them.
func SizeNodes(graph []byte) ([]string, error) {
	all, err := Place(graph)
	var names []string
	computed, sizes := map[string]bool{InputIDs: true, InputLengths: true, InputTypes: true}, map[string]bool{}
	for _, n := range all {
		whole := true
		for _, e := range n.Out {
			whole = whole && (e == Int64 || e == Int32)
		}
		size := n.Op == "Shape"
		for _, in := range n.inputs {
			size = size || sizes[in]
		}
		for _, in := range n.inputs {
			size = size && (n.Op == "Shape" || sizes[in] || !computed[in])
		}
		if size && whole {
			names = append(names, n.Name)
		}
		for _, out := range n.outputs {
			computed[out] = n.Provider != AtLoad
			sizes[out] = size && whole
		}
	}
	return names, err
}

// Capturable says why the nodes cannot be captured as a CUDA graph for one shape, nil if
// they can: all that computes must be on the device, without branches, and nothing be
// copied between host and device. What the host computes from the shape is computed
// while the graph is captured and is the same in every later run of that shape. All
// forms that Build writes for CUDA are capturable, of open shapes as of fixed ones.
func Capturable(nodes []Node) error {
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.Provider == Nowhere:
			return fmt.Errorf("capture: %s has no kernel on CUDA", n)
		case len(n.ToHost) > 0:
			return fmt.Errorf("capture: %s copies %s to the host", n, strings.Join(n.ToHost, ", "))
		case len(n.ToDevice) > 0:
			return fmt.Errorf("capture: %s copies %s to the device", n, strings.Join(n.ToDevice, ", "))
		}
	}
	return nil
}

// nodes is what Place reads of a graph.
type nodes struct {
	nodes []Node
	elems map[string]ElemType
	small map[string]bool // initializers: whether of at most 100 values
	input map[string]bool
}

func readNodes(graph []byte) (*nodes, error) {
	g := &nodes{elems: map[string]ElemType{}, small: map[string]bool{}, input: map[string]bool{}}
	d := newDecoder(bytes.NewReader(graph), int64(len(graph)))
	err := d.message(int64(len(graph)), func(f field) (bool, error) {
		if f.number != modelGraph {
			return false, nil
		}
		return true, d.nested(f, func(in field) (bool, error) {
			switch in.number {
			case graphNode:
				return true, d.nodeOf(in, g)
			case graphInitializer:
				return true, d.initializerOf(in, g)
			case graphInput:
				v, err := d.value(in)
				g.elems[v.Name], g.input[v.Name] = v.Elem, true
				return true, err
			}
			return false, nil
		})
	})
	return g, err
}

func (d *decoder) nodeOf(f field, g *nodes) error {
	var n Node
	err := d.nested(f, func(in field) (used bool, err error) {
		if in.number == nodeAttribute {
			return true, d.attributeOf(in, &n)
		}
		s := ""
		switch in.number {
		case nodeInput, nodeOutput, nodeName, nodeOp, nodeDomain:
			s, err = d.text(in)
		default:
			return false, nil
		}
		switch in.number {
		case nodeInput:
			n.inputs = append(n.inputs, s)
		case nodeOutput:
			n.outputs = append(n.outputs, s)
		case nodeName:
			n.Name = s
		case nodeOp:
			n.Op = s
		case nodeDomain:
			n.Domain = s
		}
		return true, err
	})
	g.nodes = append(g.nodes, n)
	return err
}

func (d *decoder) attributeOf(f field, n *Node) error {
	name, value := "", int64(0)
	err := d.nested(f, func(a field) (used bool, err error) {
		switch {
		case a.number == attributeName:
			name, err = d.text(a)
		case a.number == attributeInt && a.wire == wireVarint:
			value, err = d.number(a, f.end)
		case a.number == attributeGraph && a.wire == wireBytes:
			n.branches = true
			return false, nil
		default:
			return false, nil
		}
		return true, err
	})
	if name == "to" {
		n.to = ElemType(value)
	}
	return err
}

func (d *decoder) initializerOf(f field, g *nodes) error {
	name, elem, count := "", int64(0), int64(1)
	err := d.nested(f, func(in field) (used bool, err error) {
		switch in.number {
		case tensorName:
			name, err = d.text(in)
		case tensorType:
			elem, err = d.number(in, f.end)
		case tensorDims:
			var n int64
			n, err = d.number(in, f.end)
			count *= n
		default:
			return false, nil
		}
		return true, err
	})
	g.elems[name], g.small[name] = ElemType(elem), count <= 100
	return err
}
