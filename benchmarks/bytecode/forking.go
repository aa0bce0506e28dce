// Goroutines that wait for each other, so many at one time.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	for round := 0; round < 5; round++ {
		start := time.Now()
		var here, gone sync.WaitGroup
		here.Add(count)
		gone.Add(count)
		for i := 0; i < count; i++ {
			go func() {
				here.Done()
				here.Wait()
				gone.Done()
			}()
		}
		gone.Wait()
		fmt.Printf("RESULT\tforking\tgo\t\t%.1f\tns/iter\n", float64(time.Since(start).Nanoseconds())/float64(count))
	}
}
