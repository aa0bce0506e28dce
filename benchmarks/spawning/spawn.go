// Goroutines, each blocked on a channel.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	gate := make(chan int)
	var started sync.WaitGroup
	started.Add(n)
	start := time.Now()
	for i := 0; i < n; i++ {
		go func() { started.Done(); <-gate }()
	}
	started.Wait()
	fmt.Printf("RESULT\tspawn\tgo\t\t%.1f\tns/process\n", float64(time.Since(start).Nanoseconds())/float64(n))
}
