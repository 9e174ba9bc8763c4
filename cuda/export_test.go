package cuda

import "slices"

// Called are the functions that Findings looks for, in order.
func Called() []string {
	all := slices.Concat(called, calledHopper)
	slices.Sort(all)
	return all
}
