/* What needs no machine, on many native threads at once: values, lists, errors, options, and every kind of wrong handle. */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <squall.h>

enum { THREADS = 8, ROUNDS = 2000 };

/* Handles that all threads use, free, and replace. */
static _Atomic(squall_value *) shared[16];

static void must(int at, bool is_so) {
    if (is_so) return;
    fprintf(stderr, "line %d is not so\n", at);
    exit(1);
}
#define is(condition) must(__LINE__, (condition))

static void is_code(int at, squall_error *error, squall_code code) {
    must(at, squall_error_code(error) == code);
    must(at, code == SQUALL_CODE_OK || strlen(squall_error_message(error)) > 0);
    squall_error_free(error);
}
#define expect(call, code) is_code(__LINE__, (call), (code))

static void values(int64_t number) {
    squall_value *integer = squall_integer(number), *text, *list, *element;
    const squall_value *elements[] = {integer, integer};
    const char *bytes;
    size_t length = 0;
    int64_t found = 0;
    expect(squall_text("four", 4, &text), SQUALL_CODE_OK);
    expect(squall_list(elements, 2, &list), SQUALL_CODE_OK);
    squall_value_free(integer);
    expect(squall_value_element(list, 1, &element), SQUALL_CODE_OK);
    expect(squall_value_integer(element, &found), SQUALL_CODE_OK);
    expect(squall_value_text(text, &bytes, &length), SQUALL_CODE_OK);
    is(found == number && length == 4 && strcmp(bytes, "four") == 0);
    expect(squall_value_element(list, 2, &integer), SQUALL_CODE_ARGUMENT);
    expect(squall_value_integer(text, &found), SQUALL_CODE_KIND);
    expect(squall_value_integer(integer, &found), SQUALL_CODE_HANDLE);
    squall_value_free(element);
    squall_value_free(element);
    squall_value_free(list);
    squall_value_free(text);
}

static void wrong_handles(uintptr_t bits) {
    squall_value *copy;
    squall_value_free((squall_value *)bits);
    squall_error_free((squall_error *)bits);
    squall_options_free((squall_options *)bits);
    squall_reader_free((squall_reader *)bits);
    squall_writer_free((squall_writer *)bits);
    squall_sandbox_free((squall_sandbox *)bits);
    squall_vm_free((squall_vm *)bits);
    expect(squall_platform((squall_vm *)bits, &copy), SQUALL_CODE_HANDLE);
    expect(squall_writer_poison((squall_writer *)bits), SQUALL_CODE_HANDLE);
    expect(squall_reader_poison((squall_reader *)bits), SQUALL_CODE_HANDLE);
    expect(squall_sandbox_terminate((squall_sandbox *)bits), SQUALL_CODE_HANDLE);
    is(squall_error_code((squall_error *)(bits | 1)) == SQUALL_CODE_HANDLE);
    is(strlen(squall_error_trace((squall_error *)(bits | 1))) == 0);
}

static void others(void) {
    squall_error *error = squall_error_new("no"), *same = error;
    is(squall_error_code(error) == SQUALL_CODE_HOST && strcmp(squall_error_message(error), "no") == 0);
    squall_error_free(error);
    squall_error_free(same);
    squall_options *options = squall_options_new();
    expect(squall_options_set_workers(options, 2), SQUALL_CODE_OK);
    expect(squall_options_add_argument(options, "x"), SQUALL_CODE_OK);
    expect(squall_options_add_argument(options, NULL), SQUALL_CODE_ARGUMENT);
    squall_options_free(options);
    expect(squall_options_set_workers(options, 2), SQUALL_CODE_HANDLE);
}

/* Uses and frees what others use and free at the same time. */
static void meet(unsigned place) {
    int64_t number = 0;
    squall_value *old = atomic_load(&shared[place]), *copy = NULL;
    squall_error *error = squall_value_integer(old, &number);
    squall_code code = squall_error_code(error);
    is(code == SQUALL_CODE_OK ? number == 7 : code == SQUALL_CODE_HANDLE);
    squall_error_free(error);
    error = squall_value_copy(old, &copy);
    if (error == NULL) squall_value_free(copy);
    squall_error_free(error);
    squall_value_free(old);
    squall_value *new = squall_integer(7);
    if (!atomic_compare_exchange_strong(&shared[place], &old, new)) squall_value_free(new);
}

static void *work(void *data) {
    unsigned random = (unsigned)(uintptr_t)data;
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1103515245 + 12345;
        values(round);
        /* Kinds from 8 on do not exist, nor do so many places. */
        wrong_handles((uintptr_t)random << 20 | 0xf);
        others();
        meet(random >> 16 & 15);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int index = 0; index < 16; index++) atomic_store(&shared[index], squall_integer(7));
    for (uintptr_t index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, work, (void *)(index + 1));
    for (int index = 0; index < THREADS; index++) pthread_join(threads[index], NULL);
    for (int index = 0; index < 16; index++) squall_value_free(atomic_load(&shared[index]));
    wrong_handles(0);
    printf("done\n");
    return 0;
}
