/* The C functions that the benchmarks call. */
#include <time.h>

int get_int(void) { return 42; }

int sleep_ms(int ms) {
  struct timespec time = { ms / 1000, (ms % 1000) * 1000000L };
  nanosleep(&time, 0);
  return ms;
}

/* Computes for so many microseconds. */
int spin_us(int us) {
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += us * 1000L;
  while (end.tv_nsec >= 1000000000L) { end.tv_nsec -= 1000000000L; end.tv_sec++; }
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
  return us;
}
