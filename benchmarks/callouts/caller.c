/* The same calls in C, through pointers that the compiler cannot see through: what is possible.

       caller LIBRARY calls|long SIZE */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int (*volatile get_int)(void);
static int (*volatile sleep_ms)(int);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

static void calls(long count) {
  for (int round = 0; round < 3; round++) {
    long sum = 0;
    double begin = now();
    for (long i = 0; i < count; i++) sum += get_int();
    double time = now() - begin;
    if (sum != 42 * count) exit(1);
    printf("RESULT\tcalls\tC\tget_int\t%.3f\tns\n", time / count);
  }
}

static void *nap(void *ms) {
  sleep_ms((int)(long)ms);
  return 0;
}

static void naps(int count, long ms) {
  pthread_t threads[100];
  double begin = now();
  for (int i = 0; i < count; i++) pthread_create(&threads[i], 0, nap, (void *)ms);
  for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
  printf("RESULT\tlong\tC\t%d at a time\t%.3f\tms\n", count, (now() - begin) / 1e6);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) return 2;
  get_int = (int (*)(void))dlsym(library, "get_int");
  sleep_ms = (int (*)(int))dlsym(library, "sleep_ms");
  long size = atol(argv[3]);
  if (strcmp(argv[2], "calls") == 0) {
    calls(size);
  } else {
    naps(1, size);
    naps(2, size);
    naps(100, size);
  }
  return 0;
}
