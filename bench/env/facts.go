package env

// maxExact bounds every number of the schema: JSON tools that keep numbers as
// float64 hold no integer beyond it exactly.
const maxExact = 1 << 53

// Facts is the environment fingerprint. Empty values are unknown, or absent on
// this machine; Unknown tells which are which.
type Facts struct {
	OS             string `json:"os"`             // linux
	Arch           string `json:"arch"`           // amd64, arm64
	Kernel         string `json:"kernel"`         // release, as uname -r
	Distribution   string `json:"distribution"`   // PRETTY_NAME of os-release
	HostHash       string `json:"host_hash"`      // first 12 hex digits of a salted sha256 of the host name
	Virtualization string `json:"virtualization"` // kvm, vmware, xen, microsoft, "hypervisor" when unnamed, "" on bare metal
	Container      string `json:"container"`      // docker, podman, kubernetes, lxc, "" outside

	CPU    CPU    `json:"cpu"`
	Limits Limits `json:"limits"`
	Memory Memory `json:"memory"`
	Load   Load   `json:"load"`
	Go     Go     `json:"go"`

	Unknown []string `json:"unknown"` // names of facts that could not be read, sorted
}

// CPU describes the processors that are online.
type CPU struct {
	Vendor      string   `json:"vendor"`
	Model       string   `json:"model"`
	Family      string   `json:"family"` // x86: family-model-stepping; arm64: implementer-part-revision
	Microcode   string   `json:"microcode"`
	Sockets     int      `json:"sockets"`
	Cores       int      `json:"physical_cores"`
	Logical     int      `json:"logical_cpus"`
	SMT         string   `json:"smt"`          // on, off, notsupported, forceoff, …
	ISA         []string `json:"isa"`          // of the flags that matter to an encoder, sorted
	Caches      []Cache  `json:"caches"`       // of the first online CPU, L1 to L3
	Governor    string   `json:"governor"`     // of all online CPUs; several are joined with a comma
	Driver      string   `json:"freq_driver"`  // cpufreq scaling driver
	Turbo       string   `json:"turbo"`        // on, off
	MinMHz      float64  `json:"min_mhz"`      // hardware limits
	MaxMHz      float64  `json:"max_mhz"`      //
	CurrentMHz  float64  `json:"current_mhz"`  // mean over online CPUs at the time of collection
	NUMANodes   int      `json:"numa_nodes"`   //
	NUMACPUs    []string `json:"numa_cpus"`    // CPU list of each node
	Mitigations []string `json:"mitigations"`  // "name: state" of vulnerabilities that are not "Not affected"
	ClockSource string   `json:"clock_source"` // tsc, kvm-clock, …
}

// Cache is one level of the hierarchy.
type Cache struct {
	Level  int    `json:"level"`
	Type   string `json:"type"` // Data, Instruction, Unified
	KiB    int    `json:"kib"`
	Shared int    `json:"shared_by"` // logical CPUs that share it
}

// Limits is what the process may use of the machine.
type Limits struct {
	Affinity      int     `json:"affinity_cpus"`      // CPUs in the affinity mask
	AffinityList  string  `json:"affinity_list"`      // the mask, as "0-3,8"
	AffinityCores int     `json:"affinity_cores"`     // physical cores in the mask; 0 when unknown
	Quota         float64 `json:"cgroup_quota_cpus"`  // CPUs the tightest cgroup allows; 0 = no limit
	QuotaFrom     string  `json:"cgroup_quota_from"`  // file that sets it
	Cgroup        string  `json:"cgroup_version"`     // v1, v2, hybrid
	MemoryBytes   int64   `json:"cgroup_memory"`      // tightest memory limit; 0 = no limit
	MemoryFrom    string  `json:"cgroup_memory_from"` // file that sets it
	Nice          int     `json:"nice"`               //
}

// Memory is the machine's memory at the time of collection.
type Memory struct {
	TotalBytes     int64  `json:"total_bytes"`
	AvailableBytes int64  `json:"available_bytes"`
	SwapTotalBytes int64  `json:"swap_total_bytes"`
	SwapUsedBytes  int64  `json:"swap_used_bytes"`
	HugePages      string `json:"transparent_huge_pages"` // always, madvise, never
	HugePagesTotal int    `json:"huge_pages_total"`       // reserved
	HugePageKiB    int    `json:"huge_page_kib"`
}

// Load is the machine's load average and its run queue at the time of
// collection.
type Load struct {
	One     float64 `json:"load_1m"`
	Five    float64 `json:"load_5m"`
	Fifteen float64 `json:"load_15m"`
	Running int     `json:"running"` // runnable tasks, this one included
}

// Go is the Go runtime and the environment variables that change results.
type Go struct {
	Version    string            `json:"version"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	GOGC       int               `json:"gogc"`                 // percent; -1 = off
	GOMEMLIMIT int64             `json:"gomemlimit,omitempty"` // bytes; 0 = no limit
	Env        map[string]string `json:"env"`                  // variables in force of the list in Variables
}
