/* Native threads that do nothing but yield, on one processor. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

static int each;

static void *spin(void *unused) {
  for (int i = 0; i < each; i++) sched_yield();
  return unused;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(void) {
  int counts[] = {2, 10};
  for (int round = 0; round < 3; round++)
    for (int which = 0; which < 2; which++) {
      int count = counts[which];
      pthread_t threads[10];
      each = 1000000 / count;
      double start = now();
      for (int i = 0; i < count; i++) pthread_create(&threads[i], 0, spin, 0);
      for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
      printf("RESULT\tyielding\tc\t%d at a time\t%.1f\tns/switch\n", count,
             (now() - start) / ((double)count * each));
    }
  return 0;
}
