/* A program in C with a machine in it.

   area: 42
   frame: 42, scaled: 2.5
   sums: 1 3 6 10
   error: ZeroDivide
   stranger: ended, used 100000 of fuel
   stranger: not granted host:geometry
   second machine: refused */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <squall.h>

/* Ends the program if something has gone wrong. */
static void check(squall_error *error) {
    if (error == NULL) return;
    fprintf(stderr, "%s\n%s", squall_error_message(error), squall_error_trace(error));
    squall_error_free(error);
    exit(1);
}

/* The content of a file, and its length. */
static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    char *bytes = malloc(1 << 16);
    *length = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

/* Sends a message with up to two arguments, which are freed. */
static squall_value *send(squall_vm *vm, squall_value *receiver, const char *selector, size_t count,
                          squall_value *first, squall_value *second) {
    const squall_value *arguments[] = {first, second};
    squall_value *answer;
    check(squall_call(vm, receiver, selector, arguments, count, &answer));
    squall_value_free(first);
    squall_value_free(second);
    return answer;
}

static int64_t take_integer(squall_value *value) {
    int64_t integer;
    check(squall_value_integer(value, &integer));
    squall_value_free(value);
    return integer;
}

/* Called by guest code. */
static squall_value *area(void *data, const squall_value *const *arguments, size_t count,
                          squall_error **error) {
    int64_t width, height;
    (void)data;
    if (count != 2) {
        *error = squall_error_new("an area is that of two numbers");
        return NULL;
    }
    if ((*error = squall_value_integer(arguments[0], &width)) != NULL) return NULL;
    if ((*error = squall_value_integer(arguments[1], &height)) != NULL) return NULL;
    return squall_integer(width * height);
}

/* Called by typed code, which has been linked with its types: there is no need to look at the arguments. */
static squall_value *scale(void *data, const squall_value *const *arguments, size_t count,
                           squall_error **error) {
    double number = 0;
    (void)count;
    if ((*error = squall_value_double(arguments[0], &number)) != NULL) return NULL;
    return squall_double(number * *(const double *)data);
}

/* The functions that modules of bytecode import from `host:geometry`. */
static void offer_geometry(squall_vm *vm) {
    static const char *const area_types[] = {"i64", "i64"};
    static const char *const scale_types[] = {"f64"};
    static double factor = 0.5;
    const squall_host_function functions[] = {
        {"area", area_types, 2, "i64", area, NULL},
        {"scale", scale_types, 1, "f64", scale, &factor},
    };
    check(squall_register_module(vm, "host:geometry", "1.0.0", functions, 2));
}

static void typed_code(squall_vm *vm, const char *text, size_t length) {
    squall_value *module, *frame, *scaled;
    double number;
    check(squall_load(vm, "areas.sqasm", SQUALL_FORMAT_ASSEMBLY, text, length, &module));
    squall_value *four = squall_integer(4), *five = squall_integer(5), *big = squall_double(5);
    const squall_value *rectangle[] = {four, five}, *one[] = {big};
    check(squall_call_export(vm, module, "frame", rectangle, 2, &frame));
    check(squall_call_export(vm, module, "scaled", one, 1, &scaled));
    check(squall_value_double(scaled, &number));
    printf("frame: %lld, scaled: %g\n", (long long)take_integer(frame), number);
    squall_value_free(scaled);
    squall_value_free(four);
    squall_value_free(five);
    squall_value_free(big);
    squall_value_free(module);
}

/* A native thread that meets a process. */
static void *write_numbers(void *data) {
    squall_writer *numbers = data;
    for (int64_t number = 1; number <= 4; number++) {
        squall_value *value = squall_integer(number);
        check(squall_writer_write(numbers, value));
        squall_value_free(value);
    }
    check(squall_writer_poison(numbers));
    squall_writer_free(numbers);
    return NULL;
}

static void sums(squall_vm *vm, squall_value *pipeline) {
    squall_writer *numbers;
    squall_reader *sums;
    squall_value *guest_in, *guest_out, *sum;
    squall_error *error;
    pthread_t writing;
    check(squall_channel_to_guest(vm, 0, &numbers, &guest_in));
    check(squall_channel_from_guest(vm, 0, &sums, &guest_out));
    squall_value_free(send(vm, pipeline, "sumFrom:to:", 2, guest_in, guest_out));
    pthread_create(&writing, NULL, write_numbers, numbers);
    printf("sums:");
    while ((error = squall_reader_read(sums, &sum)) == NULL) {
        printf(" %lld", (long long)take_integer(sum));
    }
    printf("\n");
    if (squall_error_code(error) != SQUALL_CODE_POISONED) check(error);
    squall_error_free(error);
    squall_reader_free(sums);
    pthread_join(writing, NULL);
}

static void stranger(squall_vm *vm, squall_value *pipeline, const char *areas, size_t length) {
    squall_budgets budgets = {100000, SQUALL_UNLIMITED, SQUALL_UNLIMITED, SQUALL_UNLIMITED,
                              SQUALL_UNLIMITED};
    squall_sandbox *sandbox;
    squall_value *class, *actor, *object, *answer;
    check(squall_sandbox_new(vm, "stranger", &budgets, NULL, 0, &sandbox));
    class = send(vm, pipeline, "stranger", 0, NULL, NULL);
    check(squall_sandbox_actor(sandbox, class, &actor));
    object = send(vm, actor, "new", 0, NULL, NULL);
    squall_error *error = squall_call(vm, object, "spin", NULL, 0, &answer);
    if (squall_error_code(error) == SQUALL_CODE_SANDBOX_ENDED) {
        check(squall_sandbox_usage(sandbox, &budgets));
        printf("stranger: ended, used %llu of fuel\n", (unsigned long long)budgets.fuel);
    }
    squall_error_free(error);
    error = squall_sandbox_load(sandbox, "areas.sqasm", SQUALL_FORMAT_ASSEMBLY, areas, length, &answer);
    if (squall_error_code(error) == SQUALL_CODE_COMPILE) printf("stranger: not granted host:geometry\n");
    squall_error_free(error);
    squall_value_free(class);
    squall_value_free(actor);
    squall_value_free(object);
    squall_sandbox_free(sandbox);
}

int main(int count, char **arguments) {
    squall_vm *vm, *second;
    squall_value *platform, *class, *pipeline, *answer, *one;
    size_t length, areas_length;
    if (count != 3) {
        fprintf(stderr, "usage: embed pipeline.ns areas.sqasm\n");
        return 64;
    }
    char *text = read_file(arguments[1], &length);
    char *areas = read_file(arguments[2], &areas_length);
    check(squall_start(NULL, &vm));
    check(squall_load(vm, "pipeline.ns", SQUALL_FORMAT_NEWSPEAK, text, length, &class));
    check(squall_platform(vm, &platform));
    pipeline = send(vm, class, "usingPlatform:", 1, platform, NULL);

    check(squall_register(vm, "area", area, NULL));
    answer = send(vm, pipeline, "areaOf:by:", 2, squall_integer(6), squall_integer(7));
    printf("area: %lld\n", (long long)take_integer(answer));

    offer_geometry(vm);
    typed_code(vm, areas, areas_length);

    sums(vm, pipeline);

    one = squall_integer(1);
    const squall_value *divided[] = {one};
    squall_error *error = squall_call(vm, pipeline, "divide:", divided, 1, &answer);
    printf("error: %s\n", squall_error_class(error));
    squall_error_free(error);
    squall_value_free(one);

    stranger(vm, pipeline, areas, areas_length);

    error = squall_start(NULL, &second);
    if (squall_error_code(error) == SQUALL_CODE_ALREADY_STARTED) printf("second machine: refused\n");
    squall_error_free(error);

    squall_value_free(class);
    squall_value_free(pipeline);
    check(squall_end(vm, 0, NULL));
    squall_vm_free(vm);
    free(text);
    free(areas);
    return 0;
}
