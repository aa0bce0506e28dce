static inline int f(void) { return 1; }
#define N 3
struct s { struct s inner; long double x; int a[1 / 0], b[-1]; };
