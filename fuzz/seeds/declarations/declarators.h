void (*signal(int number, void (*handler)(int)))(int);
int (*(*table[3])(const char *, ...))[5];
extern volatile unsigned long long int counters[2][3], *const pointer;
typedef int function(char); function f, *g; void h(function);
double trace(double matrix[static 3][3], _Bool (transposed));
