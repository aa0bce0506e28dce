// Go's cgo: calls calls|long SIZE.
package main

/*
#include <time.h>
static int get_int(void) { return 42; }
static int sleep_ms(int ms) {
  struct timespec time = { ms / 1000, (ms % 1000) * 1000000L };
  nanosleep(&time, 0);
  return ms;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

func report(workload, detail string, value float64, unit string) {
	fmt.Printf("RESULT\t%s\tgo cgo\t%s\t%.3f\t%s\n", workload, detail, value, unit)
}

func calls(count int) {
	for round := 0; round < 3; round++ {
		sum := 0
		begin := time.Now()
		for i := 0; i < count; i++ {
			sum += int(C.get_int())
		}
		elapsed := time.Since(begin)
		if sum != 42*count {
			panic(sum)
		}
		report("calls", "get_int", float64(elapsed.Nanoseconds())/float64(count), "ns")
	}
}

func naps(count, milliseconds int) {
	var all sync.WaitGroup
	begin := time.Now()
	for i := 0; i < count; i++ {
		all.Add(1)
		go func() {
			C.sleep_ms(C.int(milliseconds))
			all.Done()
		}()
	}
	all.Wait()
	report("long", fmt.Sprintf("%d at a time", count), float64(time.Since(begin).Microseconds())/1e3, "ms")
}

func main() {
	size, _ := strconv.Atoi(os.Args[2])
	if os.Args[1] == "calls" {
		calls(size)
		return
	}
	for _, count := range []int{1, 2, 100} {
		naps(count, size)
	}
}
