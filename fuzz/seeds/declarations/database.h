/* The shape of a database's interface. */
typedef struct database database;
typedef struct statement statement;
typedef int (*row_callback)(void *context, int columns, char **values, char **names);
int database_open(const char *path, database **result);
int database_run(database *, const char *text, row_callback, void *context, char **message);
double statement_double(const statement *restrict s, int column);
enum { OK, ERROR, BUSY = 5, ROW = 100, DONE, FLAGS = 1 << 4 | 0x0fu };
void *database_hook(database *, void (*)(void *, int, char const *, int64_t), void *);
