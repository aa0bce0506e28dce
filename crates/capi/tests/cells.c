/* What leaves a sandbox through the library: each kind of object as an answer, as an error and through a channel. No code of the guest runs in the host: all of it prints, which the guest may not do. The
   last argument is the guest, `tests/attacks/guests/cells.ns`. */

#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <squall.h>

/* What the machine has written. */
static char written[1 << 16];
static size_t written_length;

static void collect(void *data, const char *bytes, size_t length) {
    (void)data;
    if (written_length + length >= sizeof written) abort();
    memcpy(written + written_length, bytes, length);
    written_length += length;
}

static void well_at(int at, squall_error *error) {
    if (squall_error_code(error) == SQUALL_CODE_OK) return;
    fprintf(stderr, "line %d: %s\n", at, squall_error_message(error));
    exit(1);
}
#define well(call) well_at(__LINE__, (call))

static squall_value *symbol(squall_vm *vm, const char *name) {
    squall_value *text, *made;
    well(squall_text(name, strlen(name), &text));
    well(squall_call(vm, text, "asSymbol", NULL, 0, &made));
    squall_value_free(text);
    return made;
}

/* What C sees of an object. */
static const char *seen(squall_vm *vm, squall_value *object) {
    static char line[200];
    squall_value *text, *elements, *answer;
    const char *bytes;
    size_t length;
    const char *kind = squall_value_kind(object) == SQUALL_KIND_OBJECT ? "object" : "plain";
    squall_error *error = squall_describe(vm, object, &text);
    if (squall_error_code(error) == SQUALL_CODE_OK) {
        well(squall_value_text(text, &bytes, &length));
        snprintf(line, sizeof line, "%s %.*s", kind, (int)length, bytes);
        squall_value_free(text);
    } else {
        snprintf(line, sizeof line, "%s refused: %s", kind, squall_error_message(error));
    }
    squall_error_free(error);
    /* None of these may reach code of the guest in the host. */
    if (squall_error_code(error = squall_elements(vm, object, &elements)) == SQUALL_CODE_OK) squall_value_free(elements);
    squall_error_free(error);
    if (squall_error_code(error = squall_evaluate(vm, object, NULL, 0, &answer)) == SQUALL_CODE_OK) squall_value_free(answer);
    squall_error_free(error);
    return line;
}

int main(int count, char **arguments) {
    static char module[1 << 16];
    const char *kinds[] = {"value", "class", "mixed", "mixin", "exception", "caught",
                           "promise", "parcel", "copy", "channel", "module", "closure"};
    squall_options *options = squall_options_new();
    squall_vm *vm;
    squall_sandbox *sandbox;
    squall_value *actor, *guest, *answer, *promise;
    FILE *file = count > 1 ? fopen(arguments[count - 1], "rb") : NULL;
    size_t length = file ? fread(module, 1, sizeof module, file) : 0;
    int code = 0;
    if (length == 0) return fprintf(stderr, "there is no module\n"), 1;
    fclose(file);
    well(squall_options_set_output(options, collect, collect, NULL));
    well(squall_start(options, &vm));
    well(squall_sandbox_new(vm, "guest", NULL, NULL, 0, &sandbox));
    well(squall_sandbox_load(sandbox, "cells.ns", SQUALL_FORMAT_NEWSPEAK, module, length, &actor));
    well(squall_call(vm, actor, "new", NULL, 0, &guest));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        squall_value *kind = symbol(vm, kinds[i]);
        const squall_value *one[] = {kind};
        squall_error *error = squall_call(vm, guest, "answer:", one, 1, &answer);
        if (squall_error_code(error) == SQUALL_CODE_OK) {
            printf("%s answered: %s\n", kinds[i], seen(vm, answer));
            squall_value_free(answer);
        } else {
            printf("%s answered: error %s\n", kinds[i], squall_error_message(error));
        }
        squall_error_free(error);
        printf("%s failed: ", kinds[i]);
        error = squall_call(vm, guest, "fail:", one, 1, &promise);
        if (squall_error_code(error) == SQUALL_CODE_OK) {
            error = squall_wait_for(vm, promise, &answer);
            squall_value_free(promise);
        }
        printf("%d %s: %s\n", squall_error_code(error), squall_error_class(error), squall_error_message(error));
        squall_error_free(error);
        squall_reader *reader;
        squall_value *end, *result;
        well(squall_channel_from_guest(vm, 2, &reader, &end));
        const squall_value *two[] = {end, kind};
        well(squall_call(vm, guest, "write:kind:", two, 2, &result));
        printf("%s written: %s\n", kinds[i], seen(vm, result));
        squall_value_free(result);
        squall_value_free(end);
        squall_reader_free(reader);
        well(squall_call(vm, guest, "report:", one, 1, &answer));
        squall_value_free(answer);
        squall_value_free(kind);
    }
    well(squall_sandbox_terminate(sandbox));
    well(squall_end(vm, 0, &code));
    written[written_length] = 0;
    if (strstr(written, "guest code")) printf("guest code has run in the host\n");
    /* The machine itself reports errors that nothing waits for, by the names of their classes. */
    for (char *line = strtok(written, "\n"); line; line = strtok(NULL, "\n")) {
        bool is_report = strncmp(line, "broken promise without a reaction: ", 35) == 0;
        if (!is_report && strncmp(line, "and ", 4) != 0) printf("written: %s\n", line);
    }
    squall_vm_free(vm);
    return code;
}
