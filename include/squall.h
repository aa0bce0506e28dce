/* Squall for C.

   Errors. A function that can fail answers an error, or null if it has succeeded. The caller frees the error. If there
   is an error, the places for results are not written.

   Handles. A pointer to an incomplete type is a handle: do not dereference it. Null, a freed handle, and a handle of another
   kind are errors with SQUALL_CODE_HANDLE; functions that free a handle ignore them. Each handle that a function answers
   or puts at a place belongs to the caller, which frees it.

   Native threads. The machine has native threads of its own. All functions may be called on any native thread, several at
   the same time, and also by functions that guest code has called. They block until there is an answer. One thing is not
   allowed: to free a handle while another native thread uses a text that belongs to it.

   A process has one machine, ever.

   Text is UTF-8. This file is generated from crates/capi. */


#ifndef SQUALL_H
#define SQUALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * No limit.
 */
#define SQUALL_UNLIMITED UINT64_MAX

/**
 * The program may read and write files.
 */
#define SQUALL_ALLOW_FILES 1

/**
 * The program may use the network.
 */
#define SQUALL_ALLOW_NETWORK 2

/**
 * The program may call C.
 */
#define SQUALL_ALLOW_FOREIGN_FUNCTIONS 4

/**
 * The program may start processes of the operating system.
 */
#define SQUALL_ALLOW_PROCESSES 8

/**
 * Kinds of errors.
 */
typedef enum {
    /**
     * No error: the code of a null pointer.
     */
    SQUALL_CODE_OK = 0,
    /**
     * A pointer that is no handle of the right kind: null, another pointer, a freed handle, or a handle of another
     * kind.
     */
    SQUALL_CODE_HANDLE = 1,
    /**
     * An invalid argument: text that is not UTF-8, an object that is no value where a value is needed, or a wrong
     * number of arguments.
     */
    SQUALL_CODE_ARGUMENT = 2,
    /**
     * The process has had its machine already.
     */
    SQUALL_CODE_ALREADY_STARTED = 3,
    /**
     * The machine does not start.
     */
    SQUALL_CODE_START = 4,
    /**
     * The machine has ended.
     */
    SQUALL_CODE_ENDED = 5,
    /**
     * A module has mistakes; the message has the diagnostics.
     */
    SQUALL_CODE_COMPILE = 6,
    /**
     * An exception that nothing caught; the error has its class and its trace.
     */
    SQUALL_CODE_EXCEPTION = 7,
    /**
     * The channel is poisoned.
     */
    SQUALL_CODE_POISONED = 8,
    /**
     * No strand can run any more; the message says what every strand waits for.
     */
    SQUALL_CODE_DEADLOCK = 9,
    /**
     * The strand that was to give the answer was ended.
     */
    SQUALL_CODE_TERMINATED = 10,
    /**
     * The sandbox is over; the message says why and where.
     */
    SQUALL_CODE_SANDBOX_ENDED = 11,
    /**
     * The heap is full.
     */
    SQUALL_CODE_OUT_OF_MEMORY = 12,
    /**
     * A value has another kind than the function needs.
     */
    SQUALL_CODE_KIND = 13,
    /**
     * An error made by a function of the embedder.
     */
    SQUALL_CODE_HOST = 14,
    /**
     * A bug in Squall.
     */
    SQUALL_CODE_INTERNAL = 15,
    /**
     * The caller's process is a fork of the machine's, and has none of its native threads.
     */
    SQUALL_CODE_FORKED = 16,
} squall_code;

/**
 * The reason why a sandbox is over.
 */
typedef enum {
    /**
     * The sandbox is not over.
     */
    SQUALL_REASON_LIVE = 0,
    /**
     * The fuel is used up.
     */
    SQUALL_REASON_FUEL = 1,
    /**
     * The sandbox needed too much memory.
     */
    SQUALL_REASON_HEAP = 2,
    /**
     * The sandbox needed too many strands.
     */
    SQUALL_REASON_STRANDS = 3,
    /**
     * The sandbox sent too many messages.
     */
    SQUALL_REASON_MESSAGES = 4,
    /**
     * The embedder or another actor has ended it.
     */
    SQUALL_REASON_TERMINATED = 5,
    /**
     * An actor of the sandbox asked the program to end.
     */
    SQUALL_REASON_EXIT = 6,
    /**
     * The processor time is used up.
     */
    SQUALL_REASON_TIME = 7,
} squall_reason;

/**
 * Kinds of values.
 */
typedef enum {
    /**
     * `nil`.
     */
    SQUALL_KIND_NIL = 0,
    /**
     * `true` or `false`.
     */
    SQUALL_KIND_BOOLEAN = 1,
    /**
     * An integer that fits 64 bits.
     */
    SQUALL_KIND_INTEGER = 2,
    /**
     * A double.
     */
    SQUALL_KIND_DOUBLE = 3,
    /**
     * A string or a symbol, in UTF-8.
     */
    SQUALL_KIND_TEXT = 4,
    /**
     * A value array.
     */
    SQUALL_KIND_LIST = 5,
    /**
     * Any other object.
     */
    SQUALL_KIND_OBJECT = 6,
} squall_kind;

/**
 * Forms of modules.
 */
typedef enum {
    /**
     * Newspeak source.
     */
    SQUALL_FORMAT_NEWSPEAK = 0,
    /**
     * The text form of bytecode.
     */
    SQUALL_FORMAT_ASSEMBLY = 1,
    /**
     * The binary form of bytecode.
     */
    SQUALL_FORMAT_BINARY = 2,
} squall_format;

/**
 * An error. The function's caller frees it.
 */
typedef struct squall_error squall_error;

/**
 * The choices at a machine's start. The function's caller frees them.
 */
typedef struct squall_options squall_options;

/**
 * The end of a channel to read from. The function's caller frees it.
 */
typedef struct squall_reader squall_reader;

/**
 * A sandbox: its actors, and all strands that they start, have budgets. The function's caller frees the handle, which
 * does not end the sandbox.
 */
typedef struct squall_sandbox squall_sandbox;

/**
 * A number, a text, a list, or an object of the machine, which the handle keeps alive. The function's caller frees it.
 */
typedef struct squall_value squall_value;

/**
 * The machine of this process.
 */
typedef struct squall_vm squall_vm;

/**
 * The end of a channel to write to. The function's caller frees it.
 */
typedef struct squall_writer squall_writer;

/**
 * The limits of a sandbox; `SQUALL_UNLIMITED` for none.
 */
typedef struct {
    /**
     * Calls and turns of loops.
     */
    uint64_t fuel;
    /**
     * Bytes that are reachable from the sandbox.
     */
    uint64_t heap;
    /**
     * Strands at a time: turns, processes and threads.
     */
    uint64_t strands;
    /**
     * Eventual sends and writes to channels.
     */
    uint64_t messages;
    /**
     * Milliseconds of processor time; 0, too, for no limit.
     */
    uint64_t time;
} squall_budgets;

/**
 * Receives the machine's output: `length` bytes of UTF-8, without a NUL. Called on native threads of the machine, one
 * call at a time.
 */
typedef void (*squall_writer_function)(void *data, const char *text, size_t length);

/**
 * A function of the embedder. It answers a new value, or null for `nil`; if it fails, it puts a new error at `error`.
 * The machine takes over both. The arguments belong to the machine. The function is called on any native thread of the
 * machine, several at once if guest code does that, and may call the machine.
 */
typedef squall_value *(*squall_function)(void *data,
                                         const squall_value *const *arguments,
                                         size_t count,
                                         squall_error **error);

/**
 * A function of a host module. All texts end with a NUL. Types are those of the assembly language, such as `i64`,
 * `list<f64>` or `any`; a function without result has the type `any`. The function gets arguments of the declared
 * types, and its answer is checked.
 */
typedef struct {
    /**
     * The name that modules import.
     */
    const char *name;
    /**
     * The types of the parameters; may be null if there are none.
     */
    const char *const *parameters;
    /**
     * The number of parameters.
     */
    size_t parameter_count;
    /**
     * The type of the result.
     */
    const char *result;
    /**
     * The function.
     */
    squall_function function;
    /**
     * The data that the function gets; lives as long as the machine.
     */
    void *data;
} squall_host_function;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library.
 */
const char *squall_version(void);

/**
 * Starts the machine of this process, with the default options if `options` is null. A process has one machine, ever:
 * a second start is an error with `SQUALL_CODE_ALREADY_STARTED`.
 */
squall_error *squall_start(const squall_options *options,
                           squall_vm **vm);

/**
 * Ends the machine. Calls that wait for an answer get an error with `SQUALL_CODE_ENDED`. If the machine had ended
 * before, this has no effect, and `exit_code` gets the exit code of that end; it may be null.
 */
squall_error *squall_end(squall_vm *vm,
                         int32_t code,
                         int32_t *exit_code);

/**
 * Frees the handle of the machine. If no end of a channel and no sandbox needs the machine, it ends.
 */
void squall_vm_free(squall_vm *vm);

/**
 * Answers the platform object: all the authority that the options allow.
 */
squall_error *squall_platform(squall_vm *vm, squall_value **platform);

/**
 * Loads a module from `length` bytes. Answers its class, which has no authority; for bytecode without a class, answers
 * the object that `squall_call_export` takes. The path, which ends with a NUL, is the module's name in traces and
 * diagnostics. `format` is a `squall_format`.
 */
squall_error *squall_load(squall_vm *vm,
                          const char *path,
                          uint32_t format,
                          const char *bytes,
                          size_t length,
                          squall_value **class_object);

/**
 * Sends a message with `count` arguments, and waits for the answer. The selector ends with a NUL. `answer` may be
 * null.
 */
squall_error *squall_call(squall_vm *vm,
                          const squall_value *receiver,
                          const char *selector,
                          const squall_value *const *arguments,
                          size_t count,
                          squall_value **answer);

/**
 * Calls the export of a bytecode module without a class, and waits for its end. The export's name ends with a NUL.
 * `answer` may be null.
 */
squall_error *squall_call_export(squall_vm *vm,
                                 const squall_value *module,
                                 const char *name,
                                 const squall_value *const *arguments,
                                 size_t count,
                                 squall_value **answer);

/**
 * Evaluates a block with up to three arguments, and waits for the answer. `answer` may be null.
 */
squall_error *squall_evaluate(squall_vm *vm,
                              const squall_value *block,
                              const squall_value *const *arguments,
                              size_t count,
                              squall_value **answer);

/**
 * Waits until a promise is resolved, and answers its value; any other value is answered at once. `answer` may be null.
 */
squall_error *squall_wait_for(squall_vm *vm,
                              const squall_value *promise,
                              squall_value **answer);

/**
 * Answers the text that an object answers to `asString`.
 */
squall_error *squall_describe(squall_vm *vm, const squall_value *object, squall_value **text);

/**
 * Answers the present elements of a collection: a list.
 */
squall_error *squall_elements(squall_vm *vm, const squall_value *collection, squall_value **list);

/**
 * Lets guest code find a value in `platform host`. The name ends with a NUL.
 */
squall_error *squall_provide(squall_vm *vm, const char *name, const squall_value *provided);

/**
 * Makes a channel to guest code, whose buffer has room for `capacity` values: one end for native code, and one to be
 * given to guest code.
 */
squall_error *squall_channel_to_guest(squall_vm *vm,
                                      size_t capacity,
                                      squall_writer **writer,
                                      squall_value **reading_end);

/**
 * Makes a channel from guest code, whose buffer has room for `capacity` values: one end for native code, and one to be
 * given to guest code.
 */
squall_error *squall_channel_from_guest(squall_vm *vm,
                                        size_t capacity,
                                        squall_reader **reader,
                                        squall_value **writing_end);

/**
 * Makes an end for native code of a guest object that is a reading end, such as a channel's `in`.
 */
squall_error *squall_reader_of(squall_vm *vm, const squall_value *end, squall_reader **reader);

/**
 * Makes an end for native code of a guest object that is a writing end, such as a channel's `out`.
 */
squall_error *squall_writer_of(squall_vm *vm, const squall_value *end, squall_writer **writer);

/**
 * Waits for a value.
 */
squall_error *squall_reader_read(squall_reader *reader, squall_value **value);

/**
 * Waits for a value for at most this many milliseconds. After that, the value is null.
 */
squall_error *squall_reader_read_within(squall_reader *reader, double milliseconds, squall_value **value);

/**
 * Waits until the value is read, or the channel's buffer has room for it.
 */
squall_error *squall_writer_write(squall_writer *writer, const squall_value *value);

/**
 * Poisons the channel: all its readers and writers fail from now on.
 */
squall_error *squall_reader_poison(squall_reader *reader);

/**
 * Poisons the channel: all its writers fail from now on, and its readers once the buffer is empty.
 */
squall_error *squall_writer_poison(squall_writer *writer);

/**
 * Frees an end. Null is ignored.
 */
void squall_reader_free(squall_reader *reader);

/**
 * Frees an end. Null is ignored.
 */
void squall_writer_free(squall_writer *writer);

/**
 * Makes a new error with this message, for functions of the embedder that fail. The message ends with a NUL; null
 * means an empty message.
 */
squall_error *squall_error_new(const char *message);

/**
 * The kind of an error; `SQUALL_CODE_OK` for null, `SQUALL_CODE_HANDLE` for any other pointer that is no error.
 */
squall_code squall_error_code(const squall_error *error);

/**
 * The message. The text lives as long as the error.
 */
const char *squall_error_message(const squall_error *error);

/**
 * The name of the exception's class; empty if the error is no exception. The text lives as long as the error.
 */
const char *squall_error_class(const squall_error *error);

/**
 * The activations that led to the exception, one in a line; empty if the error is no exception. The text lives as long
 * as the error.
 */
const char *squall_error_trace(const squall_error *error);

/**
 * Frees an error. Null is ignored.
 */
void squall_error_free(squall_error *error);

/**
 * Makes new options: no authority, no output, and the defaults for all others.
 */
squall_options *squall_options_new(void);

/**
 * Frees options. Null is ignored.
 */
void squall_options_free(squall_options *options);

/**
 * Sets the most memory that the heap may take, in bytes.
 */
squall_error *squall_options_set_max_heap(squall_options *options, size_t bytes);

/**
 * Sets the number of native threads that run the program; 0 for the number of cores.
 */
squall_error *squall_options_set_workers(squall_options *options, uint32_t workers);

/**
 * Makes the run repeatable: it depends on this number and on the embedder only.
 */
squall_error *squall_options_set_seed(squall_options *options, uint64_t seed);

/**
 * Adds permissions of the program: a sum of `SQUALL_ALLOW_…`.
 */
squall_error *squall_options_allow(squall_options *options, uint32_t authority);

/**
 * Limits the program as a whole: the machine ends with exit code 1 when it exceeds a budget.
 */
squall_error *squall_options_set_budgets(squall_options *options, const squall_budgets *budgets);

/**
 * Adds an argument of the program, which ends with a NUL.
 */
squall_error *squall_options_add_argument(squall_options *options, const char *argument);

/**
 * Adds a folder, whose path ends with a NUL, to the folders in which imported modules are looked for. The first folder
 * that has the module counts. Modules that are loaded from memory look in the working directory first.
 */
squall_error *squall_options_add_module_folder(squall_options *options,
                                               const char *path);

/**
 * Sets the functions that receive standard output and standard error output; null discards it. The functions get the
 * data, which must live as long as the machine.
 */
squall_error *squall_options_set_output(squall_options *options,
                                        squall_writer_function output,
                                        squall_writer_function error,
                                        void *data);

/**
 * Registers a function, which guest code finds in `platform host`. It replaces an earlier one with this name. The name
 * ends with a NUL. The function gets the data, which lives as long as the machine.
 */
squall_error *squall_register(squall_vm *vm,
                              const char *name,
                              squall_function function,
                              void *data);

/**
 * Lets modules of bytecode that are loaded from now on import this module, which consists of `count` functions. The
 * name begins with `host:`, and the version has the form `1.2.0`; both end with a NUL. The module replaces an earlier
 * one with this name.
 */
squall_error *squall_register_module(squall_vm *vm,
                                     const char *name,
                                     const char *version,
                                     const squall_host_function *functions,
                                     size_t count);

/**
 * Makes a sandbox. Its access to the world needs grants: `granted` has the names of `count` modules. The sandbox's
 * name, for reports, ends with a NUL, and so do the names of modules.
 */
squall_error *squall_sandbox_new(squall_vm *vm,
                                 const char *name,
                                 const squall_budgets *budgets,
                                 const char *const *granted,
                                 size_t count,
                                 squall_sandbox **sandbox);

/**
 * Makes an actor in the sandbox, whose root object is this value, such as the class of a module. Answers a far
 * reference to it, to which `squall_call` sends messages. A far reference is answered unchanged, so answers of
 * `squall_call` may be passed here. A message to a value runs outside of the sandbox; a value that the sandbox answers
 * has no code of the sandbox.
 */
squall_error *squall_sandbox_actor(squall_sandbox *sandbox,
                                   const squall_value *root,
                                   squall_value **actor);

/**
 * Loads a module like `squall_load`, but in a new actor of the sandbox, and answers a far reference to the result. If
 * a module imports a host module without a grant, that is an error with `SQUALL_CODE_COMPILE`. The code that makes the
 * module's class runs in the sandbox.
 */
squall_error *squall_sandbox_load(squall_sandbox *sandbox,
                                  const char *path,
                                  uint32_t format,
                                  const char *bytes,
                                  size_t length,
                                  squall_value **actor);

/**
 * Ends a sandbox; has no effect if it was over.
 */
squall_error *squall_sandbox_terminate(squall_sandbox *sandbox);

/**
 * Answers why a sandbox is over.
 */
squall_error *squall_sandbox_reason(squall_sandbox *sandbox, squall_reason *reason);

/**
 * Answers the report about the end of a sandbox, a text.
 */
squall_error *squall_sandbox_report(squall_sandbox *sandbox, squall_value **report);

/**
 * Answers the consumption of a sandbox: fuel; bytes at the last measurement; strands now; messages; milliseconds.
 * Resources without a budget are not counted, except strands.
 */
squall_error *squall_sandbox_usage(squall_sandbox *sandbox,
                                   squall_budgets *usage);

/**
 * Frees a handle of a sandbox. Null is ignored.
 */
void squall_sandbox_free(squall_sandbox *sandbox);

/**
 * Makes `nil`.
 */
squall_value *squall_nil(void);

/**
 * Makes `true` or `false`.
 */
squall_value *squall_boolean(bool boolean);

/**
 * Makes an integer.
 */
squall_value *squall_integer(int64_t integer);

/**
 * Makes a double.
 */
squall_value *squall_double(double number);

/**
 * Makes a string of `length` bytes in UTF-8.
 */
squall_error *squall_text(const char *bytes, size_t length, squall_value **value);

/**
 * Makes a list of `count` values. The handles of the elements stay the caller's.
 */
squall_error *squall_list(const squall_value *const *elements, size_t count, squall_value **value);

/**
 * Makes another handle for the same value.
 */
squall_error *squall_value_copy(const squall_value *value, squall_value **copy);

/**
 * Frees a handle of a value. Null is ignored.
 */
void squall_value_free(squall_value *value);

/**
 * The kind of a value; `SQUALL_KIND_NIL` for a pointer that is no value.
 */
squall_kind squall_value_kind(const squall_value *value);

/**
 * Answers the Boolean.
 */
squall_error *squall_value_boolean(const squall_value *value, bool *boolean);

/**
 * Answers the integer.
 */
squall_error *squall_value_integer(const squall_value *value, int64_t *integer);

/**
 * Answers the number as a double.
 */
squall_error *squall_value_double(const squall_value *value, double *number);

/**
 * Answers the text, in UTF-8, with a NUL after it. It lives as long as this handle. `length` may be null.
 */
squall_error *squall_value_text(const squall_value *value, const char **bytes, size_t *length);

/**
 * Answers the number of elements of a list.
 */
squall_error *squall_value_count(const squall_value *value, size_t *count);

/**
 * Answers a new handle for an element of a list, counted from 0.
 */
squall_error *squall_value_element(const squall_value *value, size_t index, squall_value **element);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SQUALL_H */
