// The actor benchmarks in Go: savina WORKLOAD SIZE ROUNDS.
//
// An actor is a goroutine with a mailbox of its own, a queue without a limit behind a mutex and a
// condition: Go's channels are bounded, and senders of messages do not wait.
package main

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strconv"
	"sync"
	"time"
)

type message struct {
	number int
	area   float64
	from   *mailbox
}

// Values of `number` that are no numbers.
const (
	stop = -1
	ping = 1
	pong = 2
)

// The reader takes all messages at once, and then goes through them without the lock.
type mailbox struct {
	mutex    sync.Mutex
	filled   sync.Cond
	incoming []message
	taken    []message
	next     int
}

func newMailbox() *mailbox {
	m := &mailbox{}
	m.filled.L = &m.mutex
	return m
}

func newMailboxes(count int) []*mailbox {
	all := make([]*mailbox, count)
	for i := range all {
		all[i] = newMailbox()
	}
	return all
}

func (m *mailbox) send(x message) {
	m.mutex.Lock()
	m.incoming = append(m.incoming, x)
	if len(m.incoming) == 1 {
		m.filled.Signal()
	}
	m.mutex.Unlock()
}

func (m *mailbox) receive() message {
	if m.next == len(m.taken) {
		m.mutex.Lock()
		for len(m.incoming) == 0 {
			m.filled.Wait()
		}
		m.taken, m.incoming = m.incoming, m.taken[:0]
		m.next = 0
		m.mutex.Unlock()
	}
	x := m.taken[m.next]
	m.next++
	return x
}

func pingPong(count int) int {
	partner, me := newMailbox(), newMailbox()
	go func() {
		for x := partner.receive(); x.number != stop; x = partner.receive() {
			x.from.send(message{number: pong})
		}
	}()
	answers := 0
	for i := 0; i < count; i++ {
		partner.send(message{number: ping, from: me})
		me.receive()
		answers++
	}
	partner.send(message{number: stop})
	return answers
}

func counting(count int) int {
	counter, me := newMailbox(), newMailbox()
	go func() {
		count := 0
		for {
			x := counter.receive()
			if x.from != nil {
				x.from.send(message{number: count})
				return
			}
			count++
		}
	}()
	for i := 0; i < count; i++ {
		counter.send(message{})
	}
	counter.send(message{from: me})
	return me.receive().number
}

func compute() float64 { return math.Sin(37.2) * math.Sin(37.2) }

var sink float64

func throughput(count int) int {
	workers, done := newMailboxes(60), newMailbox()
	for _, worker := range workers {
		go func() {
			product := 0.0
			for i := 0; i < count; i++ {
				worker.receive()
				product = compute()
			}
			done.send(message{number: count, area: product})
		}()
	}
	for i := 0; i < count; i++ {
		for _, worker := range workers {
			worker.send(message{})
		}
	}
	return sum(done, len(workers))
}

func sum(done *mailbox, parties int) int {
	sum := 0
	for i := 0; i < parties; i++ {
		x := done.receive()
		sum += x.number
		sink = x.area
	}
	return sum
}

func creation(count int) int {
	done := newMailbox()
	for i := 0; i < count; i++ {
		me := newMailbox()
		go func() {
			me.receive()
			done.send(message{number: 1, area: compute()})
		}()
		me.send(message{})
	}
	return sum(done, count)
}

func threadRing(hops int) int {
	ring, done := newMailboxes(100), newMailbox()
	for i := range ring {
		in, out := ring[i], ring[(i+1)%len(ring)]
		go func() {
			visits := 0
			for {
				x := in.receive()
				if x.number == stop {
					done.send(message{number: visits})
					return
				}
				visits++
				if x.number == 0 {
					done.send(x)
				} else {
					out.send(message{number: x.number - 1})
				}
			}
		}()
	}
	ring[0].send(message{number: hops})
	done.receive()
	for _, member := range ring {
		member.send(message{number: stop})
	}
	return sum(done, len(ring))
}

func chameneos(meetings int) int {
	const size = 100
	mall, done := newMailbox(), newMailbox()
	for i := 0; i < size; i++ {
		colour := i % 3
		go func() {
			me, met := newMailbox(), 0
			for {
				mall.send(message{number: colour, from: me})
				x := me.receive()
				if x.number == stop {
					done.send(message{number: met})
					return
				}
				colour = x.number
				met++
			}
		}()
	}
	bringTogether(mall, meetings, size)
	return sum(done, size) / 2
}

func bringTogether(mall *mailbox, meetings, creatures int) {
	var waiting *message
	for creatures > 0 {
		x := mall.receive()
		if meetings == 0 {
			x.from.send(message{number: stop})
			creatures--
		} else if waiting == nil {
			other := x
			waiting = &other
		} else {
			colour := x.number
			if waiting.number != x.number {
				colour = 3 - waiting.number - x.number
			}
			waiting.from.send(message{number: colour})
			x.from.send(message{number: colour})
			waiting = nil
			meetings--
		}
	}
}

func bigContention(count int) int {
	workers, done := newMailboxes(2000), newMailbox()
	for i, me := range workers {
		random := rand.New(rand.NewSource(int64(i)))
		go func() {
			left, answered := count, 0
			for {
				x := me.receive()
				switch {
				case x.number == stop:
					done.send(message{number: answered})
					return
				case x.number == ping:
					answered++
					x.from.send(message{number: pong})
				case left > 0:
					left--
					workers[random.Intn(len(workers))].send(message{number: ping, from: me})
				default:
					done.send(message{number: 1})
				}
			}
		}()
	}
	for _, worker := range workers {
		worker.send(message{number: pong})
	}
	sum(done, len(workers))
	for _, worker := range workers {
		worker.send(message{number: stop})
	}
	return sum(done, len(workers))
}

func height(x float64) float64 {
	return math.Sin(x*x*x-1) / (x + 1) * math.Sqrt(1+math.Exp(math.Sqrt(2*x)))
}

func trapezoidal(pieces int) int {
	const workers, left, right = 100, 1.0, 5.0
	width, done := (right-left)/float64(pieces), newMailbox()
	for i := 0; i < workers; i++ {
		start := left + (right-left)/workers*float64(i)
		go func() {
			area := 0.0
			for j := 0; j < pieces/workers; j++ {
				x := float64(j)*width + start
				area += 0.5 * (height(x) + height(x+width)) * width
			}
			done.send(message{area: area})
		}()
	}
	area := 0.0
	for i := 0; i < workers; i++ {
		area += done.receive().area
	}
	return int(math.Round(area * 10000))
}

func fibonacci(n int) int {
	me := newMailbox()
	go adder(n, me)
	return me.receive().number
}

func adder(n int, parent *mailbox) {
	if n <= 2 {
		parent.send(message{number: 1})
		return
	}
	me := newMailbox()
	go adder(n-1, me)
	go adder(n-2, me)
	parent.send(message{number: me.receive().number + me.receive().number})
}

func expectedFibonacci(n int) int {
	previous, last := 0, 1
	for i := 2; i <= n; i++ {
		previous, last = last, previous+last
	}
	return last
}

type benchmark struct {
	run      func(size int) int
	expected func(size int) int
}

func times(factor int) func(int) int { return func(size int) int { return size * factor } }

var benchmarks = map[string]benchmark{
	"pingpong":      {pingPong, times(1)},
	"counting":      {counting, times(1)},
	"throughput":    {throughput, times(60)},
	"creation":      {creation, times(1)},
	"threadring":    {threadRing, func(hops int) int { return hops + 1 }},
	"chameneos":     {chameneos, times(1)},
	"bigcontention": {bigContention, times(2000)},
	"trapezoidal":   {trapezoidal, func(int) int { return 2711 }},
	"fibonacci":     {fibonacci, expectedFibonacci},
}

func main() {
	name := os.Args[1]
	size, _ := strconv.Atoi(os.Args[2])
	rounds, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < rounds; i++ {
		start := time.Now()
		result := benchmarks[name].run(size)
		elapsed := time.Since(start)
		if expected := benchmarks[name].expected(size); result != expected {
			panic(fmt.Sprintf("%s answered %d, not %d", name, result, expected))
		}
		fmt.Printf("RESULT\t%s\tgo\t\t%.3f\tms\n", name, elapsed.Seconds()*1000)
	}
}
