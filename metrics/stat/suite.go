package stat

import (
	"fmt"
	"math"
)

// Suite is the mean over tasks and its interval.
type Suite struct {
	Mean  float64  `json:"mean"`
	SE    float64  `json:"se"` // standard error
	Tasks int      `json:"tasks"`
	N     int      `json:"n"` // queries of all tasks
	CI    Interval `json:"ci"`
}

// Stratified gives the mean of the task means and its interval for a fixed list of
// tasks: other queries of the same tasks could have been asked. The variance is
// Σ weight² · s²/n over the tasks, with equal weights Σ s²/n / T²; the interval is
// Student's t with Welch and Satterthwaite's degrees of freedom, clipped to [0, 1]
// by opt.Unit. weights is nil for equal ones; it need not add up to 1. (The number
// of queries as weight gives the mean over all queries.) A task without queries
// makes the mean undefined: NaN, no interval. Options.Groups does not apply.
func Stratified(tasks [][]float64, weights []float64, opt Options) Suite {
	if weights != nil && len(weights) != len(tasks) {
		panic(fmt.Sprintf("stat: %d weights for %d tasks", len(weights), len(tasks)))
	}
	out := Suite{Tasks: len(tasks)}
	var all float64
	for t := range tasks {
		all += weight(weights, t)
	}
	undefined := ""
	var variance, satterthwaite float64
	for t, values := range tasks {
		opt.Groups = nil
		s, reason := newSample(values, opt)
		if reason != "" {
			undefined = fmt.Sprintf("task %d: %s", t+1, reason)
			out.Mean = math.NaN()
			continue
		}
		w := weight(weights, t) / all
		out.Mean += w * s.mean
		out.N += s.n
		v := w * w * s.se * s.se
		variance += v
		if s.n < 2 {
			undefined = fmt.Sprintf("task %d has one value", t+1)
			continue
		}
		satterthwaite += v * v / float64(s.n-1)
	}
	out.SE = math.Sqrt(variance)
	switch {
	case len(tasks) == 0:
		out.Mean, out.CI = math.NaN(), none("no tasks")
		return out
	case undefined != "":
		out.CI = none("%s", undefined)
		return out
	case variance == 0:
		out.CI = none("no task has spread")
		return out
	}
	half := TQuantile(0.975, variance*variance/satterthwaite) * out.SE
	out.CI = Interval{out.Mean - half, out.Mean + half, fmt.Sprintf("stratified t over the queries of %d fixed tasks", len(tasks))}
	if opt.Unit && (out.CI.Low < 0 || out.CI.High > 1) {
		out.CI.Low, out.CI.High = max(0, out.CI.Low), min(1, out.CI.High)
		out.CI.Method += ", clipped to [0, 1]"
	}
	return out
}

func weight(weights []float64, t int) float64 {
	if weights == nil {
		return 1
	}
	return weights[t]
}
