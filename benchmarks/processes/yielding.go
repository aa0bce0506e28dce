// Goroutines that do nothing but yield.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

func main() {
	for round := 0; round < 5; round++ {
		for _, n := range []int{2, 10} {
			k := 4000000 / n
			var all sync.WaitGroup
			start := time.Now()
			for i := 0; i < n; i++ {
				all.Add(1)
				go func() {
					for j := 0; j < k; j++ {
						runtime.Gosched()
					}
					all.Done()
				}()
			}
			all.Wait()
			took := float64(time.Since(start).Nanoseconds()) / float64(n*k)
			fmt.Printf("RESULT\tyielding\tgo\t%d at a time\t%.1f\tns/switch\n", n, took)
		}
	}
}
