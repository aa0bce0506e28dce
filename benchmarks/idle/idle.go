package main

import (
	"fmt"
	"time"
)

func main() {
	channel := make(chan int)
	for i := 0; i < 100; i++ {
		go func() { <-channel }()
		go func() { time.Sleep(time.Hour) }()
	}
	time.Sleep(100 * time.Millisecond)
	fmt.Println("everybody waits")
	<-channel
}
