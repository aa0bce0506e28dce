// One token round a ring of 1,000 goroutines over unbuffered channels.
package main

import (
	"fmt"
	"time"
)

func main() {
	const n, hops = 1000, 2000000
	first := make(chan int)
	in := first
	done := make(chan bool)
	for i := 0; i < n; i++ {
		out := make(chan int)
		if i == n-1 {
			out = first
		}
		go func(in, out chan int) {
			for v := range in {
				if v == 0 {
					done <- true
					continue
				}
				out <- v - 1
			}
		}(in, out)
		in = out
	}
	for r := 0; r < 5; r++ {
		t := time.Now()
		first <- hops
		<-done
		fmt.Printf("RESULT\tring\tgo\t\t%.1f\tns/hop\n", float64(time.Since(t).Nanoseconds())/hops)
	}
}
