package peak

import "strings"

// Part is a GPU as its maker specifies it. FLOP/s are dense: the sparse figures, twice
// as high, that data sheets print first are not reached by any product here.
type Part struct {
	Name  string // with its form factor, as "H100 SXM"
	Watts int    // the board's limit as sold; a lower one that is set lowers what is reached
	// Bandwidth of its memory, bytes a second.
	Bandwidth float64
	// FLOP/s by the type that is multiplied.
	Float32, TF32, Float16, Int8 float64
	Source                       string
}

const tera = 1e12

// parts are by the names that the driver gives the devices. Longer names stand before those that
// they begin with.
var parts = []struct {
	names []string // any of them begins the driver's name, "NVIDIA " cut off
	Part
}{
	{[]string{"H200 NVL"}, Part{"H200 NVL", 600, 4.8 * tera, 60 * tera, 417.5 * tera, 835.5 * tera, 1670.5 * tera, "NVIDIA H200 data sheet, sparse figures halved"}},
	{[]string{"H200"}, Part{"H200 SXM", 700, 4.8 * tera, 66.9 * tera, 494.7 * tera, 989.4 * tera, 1978.9 * tera, "NVIDIA H200 data sheet, sparse figures halved"}},
	{[]string{"H100 NVL"}, Part{"H100 NVL", 400, 3.9 * tera, 60 * tera, 417.5 * tera, 835.5 * tera, 1670.5 * tera, "NVIDIA H100 data sheet, sparse figures halved"}},
	{[]string{"H100 PCIe"}, Part{"H100 PCIe", 350, 2.039 * tera, 51.2 * tera, 378 * tera, 756 * tera, 1513 * tera, "NVIDIA H100 Tensor Core GPU architecture, dense"}},
	{[]string{"H100 80GB HBM3", "H100 SXM5"}, Part{"H100 SXM", 700, 3.352 * tera, 66.9 * tera, 494.7 * tera, 989.4 * tera, 1978.9 * tera, "NVIDIA H100 Tensor Core GPU architecture, dense"}},
	{[]string{"A100-SXM4-80GB", "A100-SXM-80GB"}, Part{"A100 SXM 80 GB", 400, 2.039 * tera, 19.5 * tera, 156 * tera, 312 * tera, 624 * tera, "NVIDIA A100 data sheet, dense"}},
	{[]string{"A100-SXM4-40GB", "A100-SXM-40GB"}, Part{"A100 SXM 40 GB", 400, 1.555 * tera, 19.5 * tera, 156 * tera, 312 * tera, 624 * tera, "NVIDIA A100 data sheet, dense"}},
	{[]string{"A100 80GB PCIe", "A100-PCIE-80GB"}, Part{"A100 PCIe 80 GB", 300, 1.935 * tera, 19.5 * tera, 156 * tera, 312 * tera, 624 * tera, "NVIDIA A100 data sheet, dense"}},
	{[]string{"A100-PCIE-40GB"}, Part{"A100 PCIe 40 GB", 250, 1.555 * tera, 19.5 * tera, 156 * tera, 312 * tera, 624 * tera, "NVIDIA A100 data sheet, dense"}},
	{[]string{"L40S"}, Part{"L40S", 350, 0.864 * tera, 91.6 * tera, 183 * tera, 362 * tera, 733 * tera, "NVIDIA L40S data sheet, sparse figures halved"}},
	{[]string{"L4"}, Part{"L4", 72, 0.3 * tera, 30.3 * tera, 60 * tera, 121 * tera, 242.5 * tera, "NVIDIA L4 data sheet, sparse figures halved"}},
	{[]string{"A10"}, Part{"A10", 150, 0.6 * tera, 31.2 * tera, 62.5 * tera, 125 * tera, 250 * tera, "NVIDIA A10 data sheet, dense"}},
}

// GPU finds a part by the name that the driver gives the device. A slice of a device
// (MIG) and a part that is not listed have no peak: false.
func GPU(name string) (Part, bool) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "NVIDIA ")
	if strings.Contains(name, "MIG") {
		return Part{}, false
	}
	for _, p := range parts {
		for _, n := range p.names {
			// A10 is not A10G, and L4 is not L40.
			if rest, ok := strings.CutPrefix(name, n); ok && (rest == "" || rest[0] == ' ' || rest[0] == '-') {
				return p.Part, true
			}
		}
	}
	return Part{}, false
}

// FLOPS is the part's dense peak for a type that is multiplied: float32, tf32, float16,
// bfloat16 or int8; 0 for another.
func (p Part) FLOPS(dtype string) float64 {
	switch dtype {
	case "float32":
		return p.Float32
	case "tf32":
		return p.TF32
	case "float16", "bfloat16":
		return p.Float16
	case "int8":
		return p.Int8
	}
	return 0
}
