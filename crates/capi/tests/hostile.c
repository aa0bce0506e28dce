/* Everything that a caller can get wrong and the library can notice. */

#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <squall.h>

/* The call answers an error of this kind, and says something. */
static void expect_at(int at, squall_error *error, squall_code code) {
    squall_code found = squall_error_code(error);
    if (found != code) {
        fprintf(stderr, "line %d: code %d instead of %d: %s\n", at, found, code, squall_error_message(error));
        exit(1);
    }
    if (code != SQUALL_CODE_OK && strlen(squall_error_message(error)) == 0) {
        fprintf(stderr, "line %d: no message\n", at);
        exit(1);
    }
    squall_error_free(error);
}
#define expect(call, code) expect_at(__LINE__, (call), (code))
#define well(call) expect_at(__LINE__, (call), SQUALL_CODE_OK)

static void must(int at, int is_so) {
    if (!is_so) {
        fprintf(stderr, "line %d is not so\n", at);
        exit(1);
    }
}
#define is(condition) must(__LINE__, (condition))

/* Answers what is no value. */
static squall_value *nonsense(void *data, const squall_value *const *arguments, size_t count, squall_error **error) {
    (void)data; (void)arguments; (void)count; (void)error;
    return (squall_value *)(uintptr_t)0x1234567;
}

/* Fails with what is no error. */
static squall_value *wrong_error(void *data, const squall_value *const *arguments, size_t count, squall_error **error) {
    (void)data; (void)arguments; (void)count;
    *error = (squall_error *)(uintptr_t)0x1234567;
    return NULL;
}

/* Frees its argument, which belongs to the caller. */
static squall_value *frees(void *data, const squall_value *const *arguments, size_t count, squall_error **error) {
    (void)data; (void)error;
    if (count > 0) squall_value_free((squall_value *)arguments[0]);
    return NULL;
}

static void without_machine(void) {
    squall_value *value = NULL, *list = NULL;
    squall_vm *vm = NULL;
    char outside[64] = {0};
    const char *text;
    size_t length;
    int64_t integer;
    double number;
    bool boolean;
    expect(squall_platform(NULL, &value), SQUALL_CODE_HANDLE);
    expect(squall_platform((squall_vm *)outside, &value), SQUALL_CODE_HANDLE);
    expect(squall_platform((squall_vm *)~(uintptr_t)0, &value), SQUALL_CODE_HANDLE);
    expect(squall_start((squall_options *)outside, &vm), SQUALL_CODE_HANDLE);
    expect(squall_start(NULL, NULL), SQUALL_CODE_ARGUMENT);
    expect(squall_text("\xff", 1, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_text(NULL, 1, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_text("x", 1, NULL), SQUALL_CODE_ARGUMENT);
    well(squall_text(NULL, 0, &value));
    squall_value_free(value);
    squall_value_free(value);
    squall_value_free(NULL);
    squall_value_free((squall_value *)outside);
    expect(squall_value_integer(value, &integer), SQUALL_CODE_HANDLE);
    value = squall_integer(-5);
    is(squall_value_kind(value) == SQUALL_KIND_INTEGER);
    expect(squall_value_integer(value, NULL), SQUALL_CODE_ARGUMENT);
    expect(squall_value_text(value, &text, &length), SQUALL_CODE_KIND);
    expect(squall_value_boolean(value, &boolean), SQUALL_CODE_KIND);
    expect(squall_value_count(value, &length), SQUALL_CODE_KIND);
    well(squall_value_integer(value, &integer));
    well(squall_value_double(value, &number));
    is(integer == -5 && number == -5.0);
    expect(squall_platform((squall_vm *)value, &list), SQUALL_CODE_HANDLE);
    is(squall_error_code((squall_error *)value) == SQUALL_CODE_HANDLE);
    const squall_value *elements[] = {value, value, NULL};
    expect(squall_list(elements, 3, &list), SQUALL_CODE_HANDLE);
    expect(squall_list(NULL, 3, &list), SQUALL_CODE_ARGUMENT);
    well(squall_list(elements, 2, &list));
    squall_value_free(value);
    expect(squall_value_element(list, 2, &value), SQUALL_CODE_ARGUMENT);
    well(squall_value_element(list, 1, &value));
    well(squall_value_integer(value, &integer));
    is(integer == -5);
    squall_value_free(value);
    squall_value_free(list);
    is(squall_error_code(NULL) == SQUALL_CODE_OK);
    squall_error *error = squall_error_new(NULL);
    is(squall_error_code(error) == SQUALL_CODE_HOST && strlen(squall_error_message(error)) == 0);
    squall_error_free(error);
    squall_error_free(error);
    is(strlen(squall_error_message(error)) == 0);
    expect(squall_options_set_max_heap(NULL, 1), SQUALL_CODE_HANDLE);
    squall_options *options = squall_options_new();
    well(squall_options_set_max_heap(options, 1));
    squall_options_free(options);
    expect(squall_options_add_argument(options, "x"), SQUALL_CODE_HANDLE);
}

static const char GUEST[] =
    "class Guest usingPlatform: platform = Value (| private host = platform host. |)(\n"
    "  public call: name with: x = ( ^ host call: name with: {x} )\n"
    "  public same: x = ( ^ x )\n"
    "  public object = ( ^ {1} )\n"
    ")\n";

static squall_error *call(squall_vm *vm, squall_value *guest, const char *name, squall_value **answer) {
    squall_value *text, *one = squall_integer(1);
    well(squall_text(name, strlen(name), &text));
    const squall_value *arguments[] = {text, one};
    squall_error *error = squall_call(vm, guest, "call:with:", arguments, 2, answer);
    squall_value_free(text);
    squall_value_free(one);
    return error;
}

static void modules_of_the_host(squall_vm *vm) {
    const char *types[] = {"i64", NULL}, *unknown[] = {"i65"}, *strange[] = {"i64\n"};
    squall_host_function function = {"f", types, 1, "i64", nonsense, NULL};
    const char *name = "host:x", *version = "1.0.0";
    well(squall_register_module(vm, name, version, &function, 1));
    well(squall_register_module(vm, name, version, NULL, 0));
    expect(squall_register_module(vm, name, version, NULL, 1), SQUALL_CODE_ARGUMENT);
    expect(squall_register_module(vm, NULL, version, &function, 1), SQUALL_CODE_ARGUMENT);
    expect(squall_register_module(vm, name, NULL, &function, 1), SQUALL_CODE_ARGUMENT);
    expect(squall_register_module(vm, "x", version, &function, 1), SQUALL_CODE_ARGUMENT);
    expect(squall_register_module(vm, "host:\"x", version, &function, 1), SQUALL_CODE_ARGUMENT);
    expect(squall_register_module(vm, name, "one", &function, 1), SQUALL_CODE_COMPILE);
    expect(squall_register_module(NULL, name, version, &function, 1), SQUALL_CODE_HANDLE);
    function.parameter_count = 2;
    expect(squall_register_module(vm, name, version, &function, 1), SQUALL_CODE_ARGUMENT);
    function.parameter_count = 1;
    function.parameters = NULL;
    expect(squall_register_module(vm, name, version, &function, 1), SQUALL_CODE_ARGUMENT);
    function.parameters = unknown;
    expect(squall_register_module(vm, name, version, &function, 1), SQUALL_CODE_COMPILE);
    function.parameters = strange;
    expect(squall_register_module(vm, name, version, &function, 1), SQUALL_CODE_ARGUMENT);
    function.parameters = types;
    function.result = NULL;
    expect(squall_register_module(vm, name, version, &function, 1), SQUALL_CODE_ARGUMENT);
    function.result = "i64";
    function.function = NULL;
    expect(squall_register_module(vm, name, version, &function, 1), SQUALL_CODE_ARGUMENT);
}

static void with_machine(squall_vm *vm) {
    squall_value *value = NULL, *class = NULL, *platform, *guest, *other;
    squall_reader *reader;
    squall_writer *writer;
    squall_sandbox *sandbox;
    expect(squall_load(vm, NULL, SQUALL_FORMAT_NEWSPEAK, GUEST, sizeof GUEST - 1, &class), SQUALL_CODE_ARGUMENT);
    expect(squall_load(vm, "g", SQUALL_FORMAT_NEWSPEAK, "class", 5, &class), SQUALL_CODE_COMPILE);
    expect(squall_load(vm, "g", 17, GUEST, sizeof GUEST - 1, &class), SQUALL_CODE_ARGUMENT);
    expect(squall_load(vm, "g", SQUALL_FORMAT_BINARY, GUEST, sizeof GUEST - 1, &class), SQUALL_CODE_COMPILE);
    expect(squall_load(vm, "g", SQUALL_FORMAT_ASSEMBLY, GUEST, sizeof GUEST - 1, &class), SQUALL_CODE_COMPILE);
    well(squall_load(vm, "guest.ns", SQUALL_FORMAT_NEWSPEAK, GUEST, sizeof GUEST - 1, &class));
    well(squall_platform(vm, &platform));
    const squall_value *one[] = {platform};
    well(squall_call(vm, class, "usingPlatform:", one, 1, &guest));
    expect(squall_call(vm, guest, NULL, NULL, 0, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_call(vm, guest, "\xff", NULL, 0, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_call(vm, guest, "same:", NULL, 0, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_call(vm, guest, "", NULL, 0, &value), SQUALL_CODE_EXCEPTION);
    expect(squall_call(vm, guest, "nothing", NULL, 0, &value), SQUALL_CODE_EXCEPTION);
    expect(squall_call(vm, NULL, "nothing", NULL, 0, &value), SQUALL_CODE_HANDLE);
    well(squall_call(vm, guest, "same:", one, 1, NULL));
    expect(squall_register(vm, "x", NULL, NULL), SQUALL_CODE_ARGUMENT);
    well(squall_register(vm, "nonsense", nonsense, NULL));
    well(squall_register(vm, "wrong", wrong_error, NULL));
    well(squall_register(vm, "frees", frees, NULL));
    expect(call(vm, guest, "missing", &value), SQUALL_CODE_EXCEPTION);
    expect(call(vm, guest, "nonsense", &value), SQUALL_CODE_EXCEPTION);
    expect(call(vm, guest, "wrong", &value), SQUALL_CODE_EXCEPTION);
    well(call(vm, guest, "frees", &value));
    is(squall_value_kind(value) == SQUALL_KIND_NIL);
    squall_value_free(value);

    /* An object that is no value goes through a channel as a far reference, and does not go into a list. */
    well(squall_call(vm, guest, "object", NULL, 0, &other));
    well(squall_channel_to_guest(vm, 1, &writer, &value));
    squall_value_free(value);
    well(squall_writer_write(writer, other));
    const squall_value *mutable[] = {other};
    well(squall_list(mutable, 1, &value));
    const squall_value *list[] = {value};
    expect(squall_call(vm, guest, "same:", list, 1, NULL), SQUALL_CODE_ARGUMENT);
    squall_value_free(value);
    squall_writer_free(writer);
    expect(squall_writer_poison(writer), SQUALL_CODE_HANDLE);
    expect(squall_channel_from_guest(vm, (size_t)-1, &reader, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_channel_from_guest(vm, 1 << 30, &reader, &value), SQUALL_CODE_EXCEPTION);
    well(squall_channel_from_guest(vm, 0, &reader, &value));
    squall_value_free(value);
    well(squall_reader_read_within(reader, 1, &value));
    is(value == NULL);
    expect(squall_reader_read_within(reader, INFINITY, &value), SQUALL_CODE_ARGUMENT);
    well(squall_reader_read_within(reader, NAN, &value));
    expect(squall_reader_read(reader, &value), SQUALL_CODE_DEADLOCK);
    squall_reader_free(reader);

    /* What is no end is no end. */
    well(squall_reader_of(vm, other, &reader));
    expect(squall_reader_read(reader, &value), SQUALL_CODE_EXCEPTION);
    squall_reader_free(reader);

    modules_of_the_host(vm);

    expect(squall_sandbox_new(vm, NULL, NULL, NULL, 0, &sandbox), SQUALL_CODE_ARGUMENT);
    const char *modules[] = {"files", NULL, "nothing"};
    expect(squall_sandbox_new(vm, "box", NULL, modules, 2, &sandbox), SQUALL_CODE_ARGUMENT);
    expect(squall_sandbox_new(vm, "box", NULL, modules + 2, 1, &sandbox), SQUALL_CODE_ARGUMENT);
    expect(squall_sandbox_new(vm, "box", NULL, NULL, 1, &sandbox), SQUALL_CODE_ARGUMENT);
    expect(squall_sandbox_new(vm, "box", NULL, modules, SIZE_MAX / 4, &sandbox), SQUALL_CODE_ARGUMENT);
    well(squall_sandbox_new(vm, "box", NULL, modules, 1, &sandbox));
    expect(squall_sandbox_actor(sandbox, other, &value), SQUALL_CODE_EXCEPTION);
    well(squall_sandbox_terminate(sandbox));
    well(squall_sandbox_actor(sandbox, class, &value));
    expect(squall_call(vm, value, "asString", NULL, 0, NULL), SQUALL_CODE_SANDBOX_ENDED);
    squall_value_free(value);
    expect(squall_sandbox_load(sandbox, "g", 17, "", 0, &value), SQUALL_CODE_ARGUMENT);
    expect(squall_sandbox_load(sandbox, "g", SQUALL_FORMAT_ASSEMBLY, "x", 1, &value), SQUALL_CODE_COMPILE);
    squall_sandbox_free(sandbox);
    expect(squall_sandbox_load(sandbox, "g", SQUALL_FORMAT_ASSEMBLY, "x", 1, &value), SQUALL_CODE_HANDLE);
    squall_value_free(other);
    squall_value_free(platform);
    squall_value_free(guest);
    squall_value_free(class);
}

/* Waits for the end of the machine. */
static void *wait_for_end(void *data) {
    squall_value *value;
    expect(squall_reader_read(data, &value), SQUALL_CODE_ENDED);
    return NULL;
}

/* Imports from a folder of the search path. */
static void imports(squall_vm *vm) {
    static const char text[] = "import \"powers\" \"^1\" {\n function $square \"square\" (i64) -> i64\n}\n"
                               "export \"nine\" $nine\n"
                               "function $nine \"nine\" (0) -> i64 {\n registers i64, any, i64\n"
                               " load_raw r2, i64 3\n call r0, r2, 1, $square\n return r0\n}\n";
    squall_value *module, *answer;
    int64_t nine;
    well(squall_load(vm, "importer", SQUALL_FORMAT_ASSEMBLY, text, sizeof text - 1, &module));
    well(squall_call_export(vm, module, "nine", NULL, 0, &answer));
    well(squall_value_integer(answer, &nine));
    is(nine == 900);
    squall_value_free(answer);
    squall_value_free(module);
}

/* Options with the folder of modules that the tests of linking share, seen from an example's file. */
static squall_options *with_modules(const char *example) {
    char path[4096];
    const char *end = strrchr(example, '/');
    squall_options *options = squall_options_new();
    is(end != NULL);
    snprintf(path, sizeof path, "%.*s/../../tests/bytecode/link/shared", (int)(end - example), example);
    expect(squall_options_add_module_folder(options, NULL), SQUALL_CODE_ARGUMENT);
    well(squall_options_add_module_folder(options, path));
    return options;
}

int main(int count, char **arguments) {
    squall_options *options;
    squall_vm *vm, *second;
    squall_reader *reader, *idle;
    squall_value *end;
    pthread_t waiting;
    int32_t code;
    without_machine();
    options = with_modules(count > 1 ? arguments[1] : "");
    well(squall_start(options, &vm));
    squall_options_free(options);
    expect(squall_start(NULL, &second), SQUALL_CODE_ALREADY_STARTED);
    imports(vm);
    with_machine(vm);
    well(squall_channel_from_guest(vm, 0, &reader, &end));
    well(squall_reader_of(vm, end, &idle));
    pthread_create(&waiting, NULL, wait_for_end, reader);
    well(squall_end(vm, 3, &code));
    is(code == 3);
    pthread_join(waiting, NULL);
    well(squall_end(vm, 4, &code));
    is(code == 3);
    expect(squall_call(vm, end, "asString", NULL, 0, NULL), SQUALL_CODE_ENDED);
    squall_value_free(end);
    squall_reader_free(reader);
    squall_reader_free(idle);
    squall_vm_free(vm);
    squall_vm_free(vm);
    expect(squall_start(NULL, &second), SQUALL_CODE_ALREADY_STARTED);
    printf("done\n");
    return 0;
}
