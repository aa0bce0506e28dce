// One token round a ring of 1,000 goroutines over unbuffered channels. The argument is the number of hops.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	const n = 1000
	hops := 2000000
	if len(os.Args) > 1 {
		hops, _ = strconv.Atoi(os.Args[1])
	}
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
		fmt.Printf("RESULT\tring\tgo\t\t%.1f\tns/hop\n", float64(time.Since(t).Nanoseconds())/float64(hops))
	}
}
