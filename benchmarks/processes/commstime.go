// CommsTime over unbuffered channels: prefix -> delta -> (succ, consumer).
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func prefix(v int, in <-chan int, out chan<- int) {
	out <- v
	for {
		out <- <-in
	}
}
func succ(in <-chan int, out chan<- int) {
	for {
		out <- <-in + 1
	}
}
func delta(in <-chan int, o1, o2 chan<- int) {
	for {
		v := <-in
		o1 <- v
		o2 <- v
	}
}

func main() {
	n := 1000000
	if len(os.Args) > 1 {
		n, _ = strconv.Atoi(os.Args[1])
	}
	a, b, c, d := make(chan int), make(chan int), make(chan int), make(chan int)
	go prefix(0, b, a)
	go delta(a, c, d)
	go succ(c, b)
	for i := 0; i < 10000; i++ {
		<-d
	}
	for r := 0; r < 5; r++ {
		t := time.Now()
		for i := 0; i < n; i++ {
			<-d
		}
		fmt.Printf("RESULT\tcommstime\tgo\t\t%.1f\tns/iter\n", float64(time.Since(t).Nanoseconds())/float64(n))
	}
}
