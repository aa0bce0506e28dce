/* What library.c offers. Read by the C compiler, and by our own parser. */

/* Each scalar type: as it came, and as C understands it. */
_Bool echo_bool(_Bool x);
char echo_char(char x);
signed char echo_signed_char(signed char x);
unsigned char echo_unsigned_char(unsigned char x);
short echo_short(short x);
unsigned short echo_unsigned_short(unsigned short x);
int echo_int(int x);
unsigned int echo_unsigned_int(unsigned int x);
long echo_long(long x);
unsigned long echo_unsigned_long(unsigned long x);
long long echo_long_long(long long x);
unsigned long long echo_unsigned_long_long(unsigned long long x);
float echo_float(float x);
double echo_double(double x);
void *echo_pointer(void *x);
long long widen_char(signed char x);
long long widen_unsigned_char(unsigned char x);
long long widen_short(short x);
long long widen_int(int x);
unsigned long long widen_unsigned_int(unsigned int x);
double widen_float(float x);

/* Few and many arguments. */
int answer(void);
void nothing(void);
int add(int a, int b);
double add_doubles(double a, double b);
float mix(int a, double b, short c, float d, long e);
long long weigh_integers(int a, int b, int c, int d, int e, int f, int g, int h, signed char i);
double weigh_doubles(double a, double b, double c, double d, double e, double f, double g, double h, float i);

/* Structures, unions, arrays, enumerations. */
struct point { int x; double y[3]; };
struct small { short a; float b; };
union number { int i; float f; double d; unsigned char bytes[8]; };
enum colour { RED, GREEN = 5, BLUE };
typedef struct tree { struct tree *left, *right; int value; } tree;
struct point shift(struct point p, double by);
struct small swap(struct small s);
union number negate(union number n, int which);
enum colour next_colour(enum colour c);
int sum_of_tree(const tree *t);
int sum_of_array(const int values[], size_t count);
double trace(double (*matrix)[3]);

/* Strings and errno. */
size_t length(const char *text);
const char *greeting(void);
char *repeated(const char *text, int times);
void forget(char *text);
int fail_with(int error);
int succeed(void);

/* Any number of arguments. */
long sum_integers(int count, ...);
double sum_doubles(int count, ...);
int print_into(char *into, size_t size, const char *format, ...);

/* Callbacks. */
typedef int (*transform)(int);
typedef int (*compare)(const void *, const void *);
int apply(transform f, int x);
int apply_twice(transform f, int x);
int apply_on_thread(transform f, int x);
int apply_on_threads(transform f, int threads, int times);
void remember(transform f);
int apply_remembered(int x);
void sort(int *values, size_t count, compare order);
int errno_around(transform f, int before);
struct point build(struct point (*f)(struct small, double), double y);

/* Waiting. */
int sum_after(volatile int *started, volatile int *go, const unsigned char *bytes, size_t count);

/* A variable. */
extern int counter;
int count(void);
