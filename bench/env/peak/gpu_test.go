package peak

import "testing"

func TestGPU(t *testing.T) {
	for _, c := range []struct {
		driver, want string
		float16      float64
	}{
		{"NVIDIA H100 80GB HBM3", "H100 SXM", 989.4e12},
		{"NVIDIA H100 PCIe", "H100 PCIe", 756e12},
		{"NVIDIA H100 NVL", "H100 NVL", 835.5e12},
		{"NVIDIA H200", "H200 SXM", 989.4e12},
		{"NVIDIA H200 NVL", "H200 NVL", 835.5e12},
		{"NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB", 312e12},
		{"A100-SXM4-40GB", "A100 SXM 40 GB", 312e12},
		{"NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB", 312e12},
		{"A100-PCIE-40GB", "A100 PCIe 40 GB", 312e12},
		{"NVIDIA L40S", "L40S", 362e12},
		{"NVIDIA L4", "L4", 121e12},
		{"NVIDIA A10", "A10", 125e12},
		// Not listed: another product, a slice, one that only begins alike.
		{"NVIDIA A10G", "", 0},
		{"NVIDIA L40", "", 0},
		{"NVIDIA H100", "", 0},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "", 0},
		{"NVIDIA GH200 480GB", "", 0},
		{"Tesla T4", "", 0},
		{"encbench fake device", "", 0},
	} {
		p, ok := GPU(c.driver)
		if p.Name != c.want || ok != (c.want != "") || p.Float16 != c.float16 {
			t.Errorf("%s: %q with %g float16 FLOP/s, want %q with %g", c.driver, p.Name, p.Float16, c.want, c.float16)
		}
	}
}

// The table keeps what the parts have in common: a wrong digit shows.
func TestParts(t *testing.T) {
	for _, p := range parts {
		if p.Float16 < 1.9*p.TF32 || p.Float16 > 2.1*p.TF32 || p.Int8 < 1.9*p.Float16 || p.Int8 > 2.1*p.Float16 {
			t.Errorf("%s: %g, %g, %g FLOP/s of tf32, float16, int8 do not double", p.Name, p.TF32, p.Float16, p.Int8)
		}
		if p.Float32 >= p.TF32 || p.Bandwidth < 2e11 || p.Bandwidth > 1e13 || p.Watts < 50 || p.Source == "" {
			t.Errorf("%s: %+v", p.Name, p.Part)
		}
		if p.FLOPS("bfloat16") != p.Float16 || p.FLOPS("float32") != p.Float32 || p.FLOPS("tf32") != p.TF32 || p.FLOPS("int8") != p.Int8 || p.FLOPS("float64") != 0 {
			t.Errorf("%s: FLOPS by name", p.Name)
		}
	}
}
