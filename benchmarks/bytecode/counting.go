// Counts up to a number, one at a time.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

//go:noinline
func count(limit int) int {
	i := 0
	for i < limit {
		i++
	}
	return i
}

func main() {
	limit, _ := strconv.Atoi(os.Args[1])
	for round := 0; round < 5; round++ {
		start := time.Now()
		if count(limit) != limit {
			panic("no")
		}
		fmt.Printf("RESULT\tcounting\tgo\t\t%.3f\tns/iter\n", float64(time.Since(start).Nanoseconds())/float64(limit))
	}
}
