/* A library for the tests of calls: small functions whose results show that everything arrived. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

_Bool echo_bool(_Bool x) { return x; }
char echo_char(char x) { return x; }
signed char echo_signed_char(signed char x) { return x; }
unsigned char echo_unsigned_char(unsigned char x) { return x; }
short echo_short(short x) { return x; }
unsigned short echo_unsigned_short(unsigned short x) { return x; }
int echo_int(int x) { return x; }
unsigned int echo_unsigned_int(unsigned int x) { return x; }
long echo_long(long x) { return x; }
unsigned long echo_unsigned_long(unsigned long x) { return x; }
long long echo_long_long(long long x) { return x; }
unsigned long long echo_unsigned_long_long(unsigned long long x) { return x; }
float echo_float(float x) { return x; }
double echo_double(double x) { return x; }
void *echo_pointer(void *x) { return x; }
long long widen_char(signed char x) { return x; }
long long widen_unsigned_char(unsigned char x) { return x; }
long long widen_short(short x) { return x; }
long long widen_int(int x) { return x; }
unsigned long long widen_unsigned_int(unsigned int x) { return x; }
double widen_float(float x) { return x; }

int answer(void) { return 42; }
void nothing(void) {}
int add(int a, int b) { return a + b; }
double add_doubles(double a, double b) { return a + b; }
float mix(int a, double b, short c, float d, long e) { return (float)(a + 10 * b + 100 * c + 1000 * d + 10000 * e); }

long long weigh_integers(int a, int b, int c, int d, int e, int f, int g, int h, signed char i) {
    return a + 2LL * b + 3LL * c + 4LL * d + 5LL * e + 6LL * f + 7LL * g + 8LL * h + 9LL * i;
}

double weigh_doubles(double a, double b, double c, double d, double e, double f, double g, double h, float i) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

struct point shift(struct point p, double by) {
    p.x = -p.x;
    for (int i = 0; i < 3; i++) p.y[i] += by;
    return p;
}

struct small swap(struct small s) {
    struct small swapped = {(short)s.b, s.a};
    return swapped;
}

union number negate(union number n, int which) {
    if (which == 0) n.i = -n.i;
    if (which == 1) n.f = -n.f;
    if (which == 2) n.d = -n.d;
    return n;
}

enum colour next_colour(enum colour c) { return c == RED ? GREEN : c == GREEN ? BLUE : RED; }

int sum_of_tree(const tree *t) { return t ? t->value + sum_of_tree(t->left) + sum_of_tree(t->right) : 0; }

int sum_of_array(const int values[], size_t count) {
    int sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum;
}

double trace(double (*matrix)[3]) { return matrix[0][0] + matrix[1][1] + matrix[2][2]; }

size_t length(const char *text) { return strlen(text); }
const char *greeting(void) { return "hello from C"; }

char *repeated(const char *text, int times) {
    char *all = calloc(strlen(text) * (size_t)times + 1, 1);
    while (times-- > 0) strcat(all, text);
    return all;
}

void forget(char *text) { free(text); }

int fail_with(int error) {
    errno = error;
    return -1;
}

int succeed(void) { return 0; }

long sum_integers(int count, ...) {
    va_list arguments;
    va_start(arguments, count);
    long sum = 0;
    /* Now an int, now a long, as printf would read them. */
    for (int i = 0; i < count; i++) sum += i % 2 ? va_arg(arguments, long) : va_arg(arguments, int);
    va_end(arguments);
    return sum;
}

double sum_doubles(int count, ...) {
    va_list arguments;
    va_start(arguments, count);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += va_arg(arguments, double);
    va_end(arguments);
    return sum;
}

int print_into(char *into, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int printed = vsnprintf(into, size, format, arguments);
    va_end(arguments);
    return printed;
}

int apply(transform f, int x) { return f(x); }
int apply_twice(transform f, int x) { return f(f(x)); }

struct job {
    transform f;
    int x, times, result;
};

static void *work(void *argument) {
    struct job *job = argument;
    for (int i = 0; i < job->times; i++) job->result += job->f(job->x + i);
    return NULL;
}

int apply_on_thread(transform f, int x) {
    struct job job = {f, x, 1, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &job)) return -1;
    pthread_join(thread, NULL);
    return job.result;
}

int apply_on_threads(transform f, int threads, int times) {
    struct job jobs[64];
    pthread_t all[64];
    int sum = 0;
    for (int i = 0; i < threads; i++) {
        jobs[i] = (struct job){f, i * times, times, 0};
        if (pthread_create(&all[i], NULL, work, &jobs[i])) return -1;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i], NULL);
        sum += jobs[i].result;
    }
    return sum;
}

static transform remembered;
void remember(transform f) { remembered = f; }
int apply_remembered(int x) { return remembered(x); }

void sort(int *values, size_t count, compare order) { qsort(values, count, sizeof(int), order); }

int errno_around(transform f, int before) {
    errno = before;
    f(before);
    return errno;
}

struct point build(struct point (*f)(struct small, double), double y) {
    struct small s = {7, 0.5f};
    struct point p = f(s, y);
    p.x++;
    return p;
}

int sum_after(volatile int *started, volatile int *go, const unsigned char *bytes, size_t count) {
    int sum = 0;
    *started = 1;
    while (!*go) {}
    for (size_t i = 0; i < count; i++) sum += bytes[i];
    return sum;
}

int counter = 10;
int count(void) { return ++counter; }
