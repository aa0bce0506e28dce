/* CommsTime on native threads; a channel is one slot and two semaphores. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sched.h>
typedef struct { int v; sem_t full, taken; } chan;
static chan a, b, c, d;
static void init(chan *x) { sem_init(&x->full, 0, 0); sem_init(&x->taken, 0, 0); }
static void snd(chan *x, int v) { x->v = v; sem_post(&x->full); sem_wait(&x->taken); }
static int rcv(chan *x) { sem_wait(&x->full); int v = x->v; sem_post(&x->taken); return v; }
static void *prefix(void *_) { snd(&a, 0); for (;;) snd(&a, rcv(&b)); }
static void *delta(void *_) { for (;;) { int v = rcv(&a); snd(&c, v); snd(&d, v); } }
static void *succ(void *_) { for (;;) snd(&b, rcv(&c) + 1); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100000;
  pthread_t t;
  init(&a); init(&b); init(&c); init(&d);
  pthread_create(&t, 0, prefix, 0); pthread_create(&t, 0, delta, 0); pthread_create(&t, 0, succ, 0);
  for (int i = 0; i < 1000; i++) rcv(&d);
  for (int r = 0; r < 5; r++) {
    double t0 = now();
    for (int i = 0; i < n; i++) rcv(&d);
    printf("RESULT\tcommstime\tc\t\t%.1f\tns/iter\n", (now() - t0) / n);
  }
  return 0;
}
