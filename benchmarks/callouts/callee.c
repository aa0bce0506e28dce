/* What the callers call. */
#include <time.h>

int get_int(void) { return 42; }

int sleep_ms(int ms) {
  struct timespec time = { ms / 1000, (ms % 1000) * 1000000L };
  nanosleep(&time, 0);
  return ms;
}
