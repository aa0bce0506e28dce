/* Many native threads that call in at once, share handles, free what others use, and end the machine under each other. */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <squall.h>

enum { THREADS = 8, ROUNDS = 50 };

static const char GUEST[] =
    "class Guest usingPlatform: platform = Value (| private host = platform host. |)(\n"
    "  class Counter = (| count ::= 0. |)( public increment = ( count:: count + 1. ^ count ) )\n"
    "  class Loop = ()( public loop = ( [ true ] whileTrue: [ ] ) )\n"
    "  public counter = ( ^ Counter new )\n"
    "  public back: x = ( ^ host call: 'back' with: {x} )\n"
    "  public guest = ( ^ Loop )\n"
    ")\n";

static const char IMPORTER[] =
    "module \"user\" \"1.0.0\"\n"
    "import \"host:twice\" \"^1\" {\n    function $twice \"twice\" (i64) -> i64\n}\n"
    "export \"four\" $four\n"
    "function $four \"four\" (1) -> i64 {\n"
    "    registers i64, i64, any, i64\n"
    "    move  r3, r0\n"
    "    call  r1, r3, 1, $twice\n"
    "    add   r1, r1, r1\n"
    "    return r1\n"
    "}\n";

static squall_vm *vm;
static squall_value *guest, *counter;
static atomic_int called;
static atomic_bool loops;

static void fail(int at, squall_error *error) {
    fprintf(stderr, "line %d: code %d: %s\n", at, squall_error_code(error), squall_error_message(error));
    exit(1);
}

/* The call goes well. */
static void well_at(int at, squall_error *error) {
    if (error != NULL) fail(at, error);
}
#define well(call) well_at(__LINE__, (call))

/* The call goes well, or fails in this way. */
static bool may_at(int at, squall_error *error, squall_code code) {
    if (error == NULL) return true;
    if (squall_error_code(error) != code) fail(at, error);
    squall_error_free(error);
    return false;
}
#define may(call, code) may_at(__LINE__, (call), (code))

/* Called by guest code: calls the machine. */
static squall_value *back(void *data, const squall_value *const *arguments, size_t count, squall_error **error) {
    squall_value *answer = NULL;
    (void)data;
    (void)count;
    atomic_fetch_add(&called, 1);
    squall_error *failed = squall_call(vm, counter, "increment", NULL, 0, &answer);
    if (failed != NULL) {
        *error = squall_error_new(squall_error_message(failed));
        squall_error_free(failed);
        return NULL;
    }
    squall_value_free(answer);
    squall_value *copy = NULL;
    *error = squall_value_copy(arguments[0], &copy);
    return copy;
}

static squall_value *twice(void *data, const squall_value *const *arguments, size_t count, squall_error **error) {
    int64_t number = 0;
    (void)data;
    (void)count;
    *error = squall_value_integer(arguments[0], &number);
    return *error == NULL ? squall_integer(2 * number) : NULL;
}

/* Sends messages, to the machine and by way of it to itself. */
static void *calls(void *data) {
    (void)data;
    for (int round = 0; round < ROUNDS; round++) {
        squall_value *answer, *one = squall_integer(round);
        const squall_value *arguments[] = {one};
        well(squall_call(vm, counter, "increment", NULL, 0, &answer));
        squall_value_free(answer);
        well(squall_call(vm, guest, "back:", arguments, 1, &answer));
        squall_value_free(answer);
        squall_value_free(one);
    }
    return NULL;
}

/* Several free the same handles, while others use them. */
static squall_value *shared[ROUNDS];
static void *frees(void *data) {
    (void)data;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t number;
        may(squall_value_integer(shared[round], &number), SQUALL_CODE_HANDLE);
        squall_value_free(shared[round]);
        may(squall_value_integer(shared[round], &number), SQUALL_CODE_HANDLE);
    }
    return NULL;
}

/* Modules of the host come and go while others import them. */
static void *links(void *data) {
    static const char *const types[] = {"i64"};
    const squall_host_function function = {"twice", types, 1, "i64", twice, NULL};
    (void)data;
    for (int round = 0; round < ROUNDS / 5; round++) {
        squall_value *module, *answer, *one = squall_integer(round);
        const squall_value *arguments[] = {one};
        int64_t number = 0;
        well(squall_register_module(vm, "host:twice", "1.0.0", &function, 1));
        well(squall_load(vm, "user.sqasm", SQUALL_FORMAT_ASSEMBLY, IMPORTER, sizeof IMPORTER - 1, &module));
        well(squall_call_export(vm, module, "four", arguments, 1, &answer));
        well(squall_value_integer(answer, &number));
        if (number != 4 * round) fail(__LINE__, NULL);
        squall_value_free(answer);
        squall_value_free(one);
        squall_value_free(module);
    }
    return NULL;
}

/* Sandboxes that end by themselves and from outside. */
static void *confines(void *data) {
    squall_budgets budgets = {2000, SQUALL_UNLIMITED, SQUALL_UNLIMITED, SQUALL_UNLIMITED,
                              SQUALL_UNLIMITED};
    (void)data;
    for (int round = 0; round < ROUNDS / 5; round++) {
        squall_sandbox *sandbox;
        squall_value *class, *actor, *object = NULL;
        well(squall_sandbox_new(vm, "box", &budgets, NULL, 0, &sandbox));
        well(squall_call(vm, guest, "guest", NULL, 0, &class));
        well(squall_sandbox_actor(sandbox, class, &actor));
        if (round % 2 == 0) well(squall_sandbox_terminate(sandbox));
        if (may(squall_call(vm, actor, "new", NULL, 0, &object), SQUALL_CODE_SANDBOX_ENDED)) {
            may(squall_call(vm, object, "loop", NULL, 0, NULL), SQUALL_CODE_SANDBOX_ENDED);
        }
        squall_value_free(object);
        squall_value_free(actor);
        squall_value_free(class);
        squall_sandbox_free(sandbox);
    }
    return NULL;
}

/* Calls until the machine has ended. */
static void *calls_to_the_end(void *data) {
    squall_value *answer;
    (void)data;
    while (may(squall_call(vm, counter, "increment", NULL, 0, &answer), SQUALL_CODE_ENDED)) {
        squall_value_free(answer);
    }
    return NULL;
}

/* Waits for a loop in an actor of its own when the machine ends. */
static void *loops_to_the_end(void *data) {
    squall_sandbox *sandbox;
    squall_value *class, *actor, *object;
    (void)data;
    well(squall_sandbox_new(vm, "box", NULL, NULL, 0, &sandbox));
    well(squall_call(vm, guest, "guest", NULL, 0, &class));
    well(squall_sandbox_actor(sandbox, class, &actor));
    well(squall_call(vm, actor, "new", NULL, 0, &object));
    atomic_store(&loops, true);
    may(squall_call(vm, object, "loop", NULL, 0, NULL), SQUALL_CODE_ENDED);
    squall_value_free(object);
    squall_value_free(actor);
    squall_value_free(class);
    squall_sandbox_free(sandbox);
    return NULL;
}

static void *ends(void *data) {
    struct timespec pause = {0, 50000000};
    (void)data;
    nanosleep(&pause, NULL);
    well(squall_end(vm, 0, NULL));
    return NULL;
}

static void all(void *(*work)(void *)) {
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, work, NULL);
    for (int index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
}

int main(void) {
    squall_value *class, *platform;
    pthread_t ending[2], looping;
    well(squall_start(NULL, &vm));
    well(squall_register(vm, "back", back, NULL));
    well(squall_load(vm, "guest.ns", SQUALL_FORMAT_NEWSPEAK, GUEST, sizeof GUEST - 1, &class));
    well(squall_platform(vm, &platform));
    const squall_value *arguments[] = {platform};
    well(squall_call(vm, class, "usingPlatform:", arguments, 1, &guest));
    well(squall_call(vm, guest, "counter", NULL, 0, &counter));

    all(calls);
    if (atomic_load(&called) != THREADS * ROUNDS) fail(__LINE__, NULL);
    for (int round = 0; round < ROUNDS; round++) shared[round] = squall_integer(round);
    all(frees);
    all(links);
    all(confines);

    pthread_create(&looping, NULL, loops_to_the_end, NULL);
    while (!atomic_load(&loops)) sched_yield();
    for (int index = 0; index < 2; index++) pthread_create(&ending[index], NULL, ends, NULL);
    all(calls_to_the_end);
    for (int index = 0; index < 2; index++) pthread_join(ending[index], NULL);
    pthread_join(looping, NULL);
    squall_value_free(platform);
    squall_value_free(class);
    squall_value_free(guest);
    squall_value_free(counter);
    squall_vm_free(vm);
    may(squall_end(vm, 0, NULL), SQUALL_CODE_HANDLE);
    printf("done\n");
    return 0;
}
