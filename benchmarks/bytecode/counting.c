/* Counts up to a number, one at a time, where the compiler must not see through it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv) {
  long limit = argc > 1 ? atol(argv[1]) : 100000000;
  for (int round = 0; round < 5; round++) {
    double start = now();
    for (long count = 0; count < limit; count++)
      __asm__ volatile("" : "+r"(count));
    printf("RESULT\tcounting\tc\t\t%.3f\tns/iter\n", (now() - start) / limit);
  }
  return 0;
}
