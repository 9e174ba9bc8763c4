package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestStratified(t *testing.T) {
	tasks := [][]float64{{0.2, 0.4, 0.6}, {0.5, 0.7}, {0.1, 0.1, 0.3, 0.3}}
	s := Stratified(tasks, nil, Options{Unit: true})
	// By hand: means .4, .6, .2; s²/n = .04/3, .02/2, (.04/3)/4.
	variance := (0.04/3 + 0.02/2 + 0.04/12) / 9
	df := variance * variance / (math.Pow(0.04/3/9, 2)/2 + math.Pow(0.01/9, 2)/1 + math.Pow(0.04/12/9, 2)/3)
	half := TQuantile(0.975, df) * math.Sqrt(variance)
	if !near(s.Mean, 0.4, 1e-14) || !near(s.SE, math.Sqrt(variance), 1e-12) || s.N != 9 || s.Tasks != 3 ||
		!near(s.CI.Low, 0.4-half, 1e-10) || !near(s.CI.High, 0.4+half, 1e-10) || s.CI.Method != "stratified t over the queries of 3 fixed tasks" {
		t.Errorf("%+v, want 0.4 ± %v with error %v", s, half, math.Sqrt(variance))
	}
	// The numbers of queries as weights give the mean over all queries.
	w := Stratified(tasks, []float64{3, 2, 4}, Options{})
	if !near(w.Mean, 3.2/9, 1e-14) {
		t.Errorf("weighted mean %v, want %v", w.Mean, 3.2/9)
	}
}

// The formula against the resampling that it stands for: inside the tasks.
func TestStratifiedEqualsResamplingInsideTasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	var tasks [][]float64
	for n := 40; n <= 120; n += 20 {
		tasks = append(tasks, unitValues(uint64(n), n))
	}
	const replicates = 4000
	draws := make([]float64, replicates)
	for r := range draws {
		for _, values := range tasks {
			var sum float64
			for range values {
				sum += values[rng.IntN(len(values))]
			}
			draws[r] += sum / float64(len(values)) / float64(len(tasks))
		}
	}
	if s := Stratified(tasks, nil, Options{}); math.Abs(SD(draws)/s.SE-1) > 0.06 {
		t.Errorf("error %v, resampled %v", s.SE, SD(draws))
	}
}

func TestSuiteEdges(t *testing.T) {
	for _, c := range []struct {
		name   string
		got    Suite
		mean   float64
		method string
	}{
		{"no tasks", Stratified(nil, nil, Options{}), math.NaN(), "none: no tasks"},
		{"a task without queries", Stratified([][]float64{{0.1, 0.2}, {}}, nil, Options{}), math.NaN(), "none: task 2: no values"},
		{"a task of one query", Stratified([][]float64{{0.1, 0.3}, {0.5}}, nil, Options{}), 0.35, "none: task 2 has one value"},
		{"no spread", Stratified([][]float64{{0.5, 0.5}, {0.25, 0.25}}, nil, Options{}), 0.375, "none: no task has spread"},
		{"clipped", Stratified([][]float64{{0, 0.9}, {0, 0.9}}, nil, Options{Unit: true}), 0.45, "stratified t over the queries of 2 fixed tasks, clipped to [0, 1]"},
	} {
		if !(near(c.got.Mean, c.mean, 1e-12) || math.IsNaN(c.got.Mean) && math.IsNaN(c.mean)) || c.got.CI.Method != c.method {
			t.Errorf("%s: %+v, want mean %v, %s", c.name, c.got, c.mean, c.method)
		}
	}
	defer func() {
		if got := recover(); got != "stat: 1 weights for 2 tasks" {
			t.Errorf("panic %v", got)
		}
	}()
	Stratified([][]float64{{1, 2}, {1, 2}}, []float64{1}, Options{})
}
