/* What the programs here need beside crates/foreign/tests/all/library.c: threads of the library's own. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef int64_t (*step)(int64_t thread, int64_t number);

/* Calls `f` so many times in so many threads, and adds up what it answers. Each thread begins with its own
   state of a generator, which decides how long it waits in between. */
struct job { step f; int64_t thread, times, sum; uint32_t state; pthread_t id; };

static void *work(void *of) {
    struct job *job = of;
    for (int64_t i = 0; i < job->times; i++) {
        job->state = job->state * 1664525u + 1013904223u;
        if (job->state >> 28 == 0) usleep(job->state >> 20 & 0xff);
        job->sum += job->f(job->thread, i);
    }
    return NULL;
}

int64_t churn(step f, int threads, int64_t times, uint32_t seed) {
    struct job *jobs = calloc(threads, sizeof *jobs);
    int64_t sum = 0;
    for (int i = 0; i < threads; i++) {
        jobs[i] = (struct job){f, i, times, 0, seed + i, 0};
        if (pthread_create(&jobs[i].id, NULL, work, &jobs[i])) return -1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(jobs[i].id, NULL);
        sum += jobs[i].sum;
    }
    free(jobs);
    return sum;
}

/* Answers at once; calls `f` later, from a thread that nobody waits for. */
struct later { step f; int64_t number; useconds_t microseconds; };

static void *call_later(void *of) {
    struct later later = *(struct later *)of;
    free(of);
    usleep(later.microseconds);
    later.f(-1, later.number);
    return NULL;
}

int notify_later(step f, int64_t number, int microseconds) {
    struct later *later = malloc(sizeof *later);
    *later = (struct later){f, number, microseconds};
    pthread_t id;
    if (pthread_create(&id, NULL, call_later, later)) return -1;
    return pthread_detach(id);
}

/* Calls itself by way of `f` until `depth` is 0. */
int64_t descend(step f, int64_t depth) { return depth == 0 ? 0 : 1 + f(depth, depth - 1); }

/* Waits. */
void nap(int microseconds) { usleep(microseconds); }
