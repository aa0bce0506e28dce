package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

type node struct{ l, r *node }

func bottomUp(d int) *node {
	if d == 0 {
		return &node{}
	}
	return &node{bottomUp(d - 1), bottomUp(d - 1)}
}
func (n *node) check() int {
	if n.l == nil {
		return 1
	}
	return 1 + n.l.check() + n.r.check()
}
func run(max int) int {
	s := bottomUp(max + 1).check()
	long := bottomUp(max)
	for d := 4; d <= max; d += 4 {
		for i := 0; i < 1<<(max-d+4); i++ {
			s += bottomUp(d).check()
		}
	}
	return s + long.check()
}
func main() {
	depth, _ := strconv.Atoi(os.Args[1])
	iterations, _ := strconv.Atoi(os.Args[2])
	for r := 0; r < iterations; r++ {
		t := time.Now()
		s := run(depth)
		fmt.Printf("RESULT\tbintrees\tgo\tdepth %d, %d nodes\t%.2f\tms\n", depth, s, float64(time.Since(t).Microseconds())/1000)
	}
}
