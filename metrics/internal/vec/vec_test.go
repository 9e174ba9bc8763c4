package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// draw makes a set of members, and ids of which some are members.
func draw(seed uint64, members, ids int) (*Set, map[int32]bool, []int32) {
	r := rand.New(rand.NewPCG(seed, 0))
	bound := []int32{64, 5000, 1 << 30}[seed%3]
	var s Set
	in := map[int32]bool{}
	list := []int32{}
	for range members {
		id := r.Int32N(bound)
		if seed%5 == 0 {
			id = -id
		}
		in[id] = true
		list = append(list, id)
		s.Add(id)
	}
	all := make([]int32, ids)
	for i := range all {
		if all[i] = r.Int32N(bound); members > 0 && r.IntN(30) == 0 {
			all[i] = list[r.IntN(members)]
		}
	}
	return &s, in, all
}

// FuzzFilter holds every path to the plain code, with ids at any alignment, and
// checks that no member is lost and nothing beyond the slack is written.
func FuzzFilter(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, uint16(seed*seed), uint16(seed*37))
	}
	f.Fuzz(func(t *testing.T, seed uint64, members, ids uint16) {
		s, in, all := draw(seed, int(members%3000), int(ids%2100))
		all = all[min(int(seed%4), len(all)):]
		buffer := make([]int32, len(all)+Slack+1)
		buffer[len(all)+Slack] = -7
		dst := buffer[:len(all)+Slack]
		got := slices.Clone(dst[:s.Filter(dst, all)])
		for i, id := range all {
			if _, found := slices.BinarySearch(got, int32(i)); !found && in[id] {
				t.Errorf("place %d, a member, is not among %v", i, got)
			}
		}
		for name, path := range paths(s, all) {
			clear(dst)
			n := path.filter(dst)
			want := make([]int32, len(dst))
			want = want[:filterGeneric(want, 0, all, 0, path.words)]
			if !slices.Equal(dst[:n], want) {
				t.Errorf("%s: got %v, want %v", name, dst[:n], want)
			}
		}
		if buffer[len(all)+Slack] != -7 {
			t.Error("written beyond the slack")
		}
	})
}

type path struct {
	filter func(dst []int32) int
	words  []uint32
}

func TestFilterNeedsRoom(t *testing.T) {
	defer func() {
		if got, want := recover(), "vec: no room for the places of all ids"; got != want {
			t.Errorf("panic %v, want %v", got, want)
		}
	}()
	new(Set).Filter(make([]int32, Slack), make([]int32, 1))
}

// TestShare: of numbers that are not members as many pass as the doc comment says.
func TestShare(t *testing.T) {
	for members, most := range map[int]float64{25: .003, 200: .045} {
		s, in, all := draw(2, members, 60000)
		others, passed := 0, 0
		for _, id := range all {
			if !in[id] {
				others++
			}
		}
		dst := make([]int32, len(all)+Slack)
		for _, i := range dst[:filterGeneric(dst, 0, all, 0, s.wide[:])] {
			if !in[all[i]] {
				passed++
			}
		}
		if share := float64(passed) / float64(others); share > most {
			t.Errorf("with %d members %.4f of the others pass, want at most %.4f", members, share, most)
		}
	}
}

func TestReset(t *testing.T) {
	s, _, all := draw(1, 100, 500)
	s.Reset()
	if n := s.Filter(make([]int32, len(all)+Slack), all); n != 0 || *s != (Set{}) {
		t.Errorf("%d ids pass an empty set", n)
	}
}

func BenchmarkFilter(b *testing.B) {
	s, _, all := draw(2, 30, 1000)
	dst := make([]int32, len(all)+Slack)
	for name, path := range paths(s, all) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				path.filter(dst)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/id")
		})
	}
	b.Run("generic", func(b *testing.B) {
		for b.Loop() {
			filterGeneric(dst, 0, all, 0, s.wide[:])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/id")
	})
}
