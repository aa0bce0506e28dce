/* Squall for C.

   Errors. What can fail answers an error, or null if all went well. Who gets an error frees it. If there is an error,
   the places for results are not written.

   Handles. What looks like a pointer to an incomplete type is a handle: it is not to be followed. Null, a handle that was freed,
   and one of another kind are errors with SQUALL_CODE_HANDLE, or, for functions that free something, nothing to do. Each handle
   that a function puts at a place, or answers, belongs to the caller, who frees it.

   Native threads. The machine has native threads of its own. All functions may be called on any native thread, several at
   the same time, also by functions that guest code has called. They block until there is an answer. What is not
   allowed at the same time: to free a handle and to use texts that belong to it.

   One machine per process, ever.

   Text is UTF-8. This file is made of crates/capi. */


#ifndef SQUALL_H
#define SQUALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * As much as it likes.
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
     * A null pointer, or a handle that is none, was freed, or is of another kind.
     */
    SQUALL_CODE_HANDLE = 1,
    /**
     * An argument makes no sense: text that is not UTF-8, an object that is no value where one is needed, a wrong number of
     * arguments.
     */
    SQUALL_CODE_ARGUMENT = 2,
    /**
     * The process has had its machine.
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
     * Nothing is left that could run; the message says what every strand waits for.
     */
    SQUALL_CODE_DEADLOCK = 9,
    /**
     * The strand that was to answer was ended.
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
     * A value is not of the kind that was asked for.
     */
    SQUALL_CODE_KIND = 13,
    /**
     * An error that a function of the embedder has made.
     */
    SQUALL_CODE_HOST = 14,
    /**
     * A mistake in Squall.
     */
    SQUALL_CODE_INTERNAL = 15,
} squall_code;

/**
 * Why a sandbox is over.
 */
typedef enum {
    /**
     * It is not.
     */
    SQUALL_REASON_LIVE = 0,
    /**
     * The fuel is used up.
     */
    SQUALL_REASON_FUEL = 1,
    /**
     * There is too much memory.
     */
    SQUALL_REASON_HEAP = 2,
    /**
     * There were to be too many strands.
     */
    SQUALL_REASON_STRANDS = 3,
    /**
     * There were to be too many messages.
     */
    SQUALL_REASON_MESSAGES = 4,
    /**
     * Somebody has ended it.
     */
    SQUALL_REASON_TERMINATED = 5,
    /**
     * It was to end the program.
     */
    SQUALL_REASON_EXIT = 6,
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
     * Anything else.
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
 * An error. Who gets one frees it.
 */
typedef struct squall_error squall_error;

/**
 * What can be chosen when a machine starts. Who makes them frees them.
 */
typedef struct squall_options squall_options;

/**
 * The end of a channel to read from. Who gets one frees it.
 */
typedef struct squall_reader squall_reader;

/**
 * A sandbox: what its actors do, and all that they start, has budgets. Who gets one frees the handle, which does not
 * end the sandbox.
 */
typedef struct squall_sandbox squall_sandbox;

/**
 * A number, a text, a list, or an object of the machine, which it keeps alive. Who gets one frees it.
 */
typedef struct squall_value squall_value;

/**
 * The machine of this process.
 */
typedef struct squall_vm squall_vm;

/**
 * The end of a channel to write to. Who gets one frees it.
 */
typedef struct squall_writer squall_writer;

/**
 * What a sandbox may use; `SQUALL_UNLIMITED` for as much as it likes.
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
     * Strands at a time: turns, processes, threads.
     */
    uint64_t strands;
    /**
     * Eventual sends and writes to channels.
     */
    uint64_t messages;
} squall_budgets;

/**
 * Where the machine's output goes: so many bytes of UTF-8, without a NUL. Called on native threads of the machine's, one at a time.
 */
typedef void (*squall_writer_function)(void *data, const char *text, size_t length);

/**
 * A function of the embedder's. It answers a new value, which is taken over, or null for `nil`; or, if it fails, puts a new
 * error, which is taken over, at `error`. The arguments belong to the caller. It is called on any native thread of the machine's,
 * several times at once if guest code does that, and may call the machine.
 */
typedef squall_value *(*squall_function)(void *data,
                                         const squall_value *const *arguments,
                                         size_t count,
                                         squall_error **error);

/**
 * A function of a module of the host. All texts end with a NUL. Types are those of the assembly language, such as `i64`,
 * `list<f64>` or `any`, which is also that of no result: the function gets what it was promised, and what it
 * answers is looked at.
 */
typedef struct {
    /**
     * What modules import.
     */
    const char *name;
    /**
     * The types of the parameters; may be null if there are none.
     */
    const char *const *parameters;
    /**
     * How many there are.
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
     * What is given to the function; lives as long as the machine.
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
 * Starts the machine of this process; with null for options, as it is by default. There is one per process,
 * ever: a second start is an error with `SQUALL_CODE_ALREADY_STARTED`.
 */
squall_error *squall_start(const squall_options *options, squall_vm **vm);

/**
 * Ends the machine, unless it has ended: who waits for an answer gets an error with `SQUALL_CODE_ENDED`. The exit code is another
 * one if the machine had ended before; `exit_code` may be null.
 */
squall_error *squall_end(squall_vm *vm,
                         int32_t code,
                         int32_t *exit_code);

/**
 * Frees the handle of the machine. If no end of a channel and no sandbox is left that needs it, it ends.
 */
void squall_vm_free(squall_vm *vm);

/**
 * The platform object: all the authority that the options allow.
 */
squall_error *squall_platform(squall_vm *vm, squall_value **platform);

/**
 * Loads a module from so many bytes: its class, which has no authority; or, of bytecode without one, what
 * `squall_call_export` takes. The path, which ends with a NUL, is what traces
 * and diagnostics call it. `format` is a `squall_format`.
 */
squall_error *squall_load(squall_vm *vm,
                          const char *path,
                          uint32_t format,
                          const char *bytes,
                          size_t length,
                          squall_value **class_object);

/**
 * Sends a message with so many arguments, and waits for the answer. The selector ends with a NUL. `answer` may be null.
 */
squall_error *squall_call(squall_vm *vm,
                          const squall_value *receiver,
                          const char *selector,
                          const squall_value *const *arguments,
                          size_t count,
                          squall_value **answer);

/**
 * Calls what a module of bytecode without a class exports under a name, which ends with a NUL, and waits for its end. `answer` may
 * be null.
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
 * Waits for what a promise is resolved with; any other value is answered at once. `answer` may be null.
 */
squall_error *squall_wait_for(squall_vm *vm, const squall_value *promise, squall_value **answer);

/**
 * The text that an object answers to `asString`.
 */
squall_error *squall_describe(squall_vm *vm, const squall_value *object, squall_value **text);

/**
 * The elements of a collection, as they are now: a list.
 */
squall_error *squall_elements(squall_vm *vm, const squall_value *collection, squall_value **list);

/**
 * Lets guest code find a value in `platform host`. The name ends with a NUL.
 */
squall_error *squall_provide(squall_vm *vm, const char *name, const squall_value *provided);

/**
 * A channel to guest code, with a buffer for so many values: the end for native code, and the one to be given to guest
 * code.
 */
squall_error *squall_channel_to_guest(squall_vm *vm,
                                      size_t capacity,
                                      squall_writer **writer,
                                      squall_value **reading_end);

/**
 * A channel from guest code, with a buffer for so many values: the end for native code, and the one to be given to guest
 * code.
 */
squall_error *squall_channel_from_guest(squall_vm *vm,
                                        size_t capacity,
                                        squall_reader **reader,
                                        squall_value **writing_end);

/**
 * The end that a guest object is, such as a channel's `in`, for native code.
 */
squall_error *squall_reader_of(squall_vm *vm, const squall_value *end, squall_reader **reader);

/**
 * The end that a guest object is, such as a channel's `out`, for native code.
 */
squall_error *squall_writer_of(squall_vm *vm, const squall_value *end, squall_writer **writer);

/**
 * Waits for a value.
 */
squall_error *squall_reader_read(squall_reader *reader, squall_value **value);

/**
 * Waits for a value, but no longer than so many milliseconds: then the value is null.
 */
squall_error *squall_reader_read_within(squall_reader *reader, double milliseconds, squall_value **value);

/**
 * Waits until the value is read, or the channel's buffer has room for it.
 */
squall_error *squall_writer_write(squall_writer *writer, const squall_value *value);

/**
 * Makes everybody who reads or writes the channel fail from now on.
 */
squall_error *squall_reader_poison(squall_reader *reader);

/**
 * Makes everybody who writes to the channel fail from now on, and who reads, once the buffer is empty.
 */
squall_error *squall_writer_poison(squall_writer *writer);

/**
 * Frees an end. Null is nothing to free.
 */
void squall_reader_free(squall_reader *reader);

/**
 * Frees an end. Null is nothing to free.
 */
void squall_writer_free(squall_writer *writer);

/**
 * A new error with this message, for functions of the embedder that fail. The message ends with a NUL; null stands for
 * no message.
 */
squall_error *squall_error_new(const char *message);

/**
 * The kind of an error; `SQUALL_CODE_OK` for null, `SQUALL_CODE_HANDLE` for what is no error.
 */
squall_code squall_error_code(const squall_error *error);

/**
 * What is wrong, in words. The text lives as long as the error.
 */
const char *squall_error_message(const squall_error *error);

/**
 * The name of the exception's class; empty if the error is none. The text lives as long as the error.
 */
const char *squall_error_class(const squall_error *error);

/**
 * The activations that led to the exception, a line each; empty if the error is none. The text lives as long as the
 * error.
 */
const char *squall_error_trace(const squall_error *error);

/**
 * Frees an error. Null is nothing to free.
 */
void squall_error_free(squall_error *error);

/**
 * New options: no authority, no output, everything else as it is by default.
 */
squall_options *squall_options_new(void);

/**
 * Frees options. Null is nothing to free.
 */
void squall_options_free(squall_options *options);

/**
 * The most memory that the heap may take, in bytes.
 */
squall_error *squall_options_set_max_heap(squall_options *options, size_t bytes);

/**
 * How many native threads run the program; 0 for as many as there are cores.
 */
squall_error *squall_options_set_workers(squall_options *options, uint32_t workers);

/**
 * Makes what happens depend on this number and on the embedder only.
 */
squall_error *squall_options_set_seed(squall_options *options, uint64_t seed);

/**
 * Adds to what the program may do to the world: a sum of `SQUALL_ALLOW_…`.
 */
squall_error *squall_options_allow(squall_options *options, uint32_t authority);

/**
 * Limits what the program may use altogether: the machine ends with exit code 1 when that is exceeded.
 */
squall_error *squall_options_set_budgets(squall_options *options, const squall_budgets *budgets);

/**
 * Adds an argument of the program's, which ends with a NUL.
 */
squall_error *squall_options_add_argument(squall_options *options, const char *argument);

/**
 * Adds a folder, whose path ends with a NUL, to those in which modules are looked for that others import. The first one that has the
 * module counts. Modules that are loaded from memory look in the working directory before.
 */
squall_error *squall_options_add_module_folder(squall_options *options,
                                               const char *path);

/**
 * Where standard output and standard error output go; nowhere for null. The data is given to the functions, and must live
 * as long as the machine.
 */
squall_error *squall_options_set_output(squall_options *options,
                                        squall_writer_function output,
                                        squall_writer_function error,
                                        void *data);

/**
 * Registers a function, which guest code finds in `platform host`, in place of one with this name. The name ends with
 * a NUL. The data is given to the function, and lives as long as the machine.
 */
squall_error *squall_register(squall_vm *vm,
                              const char *name,
                              squall_function function,
                              void *data);

/**
 * Lets modules of bytecode that are loaded from now on import this one, which so many functions make up. The name begins with
 * `host:`, the version is one like `1.2.0`; both end with a NUL. A module with this name takes the place of an earlier
 * one.
 */
squall_error *squall_register_module(squall_vm *vm,
                                     const char *name,
                                     const char *version,
                                     const squall_host_function *functions,
                                     size_t count);

/**
 * A new sandbox, which is granted so many modules by their names: what it does to the world needs a grant. The name, for reports,
 * ends with a NUL, and so do those of modules.
 */
squall_error *squall_sandbox_new(squall_vm *vm,
                                 const char *name,
                                 const squall_budgets *budgets,
                                 const char *const *granted,
                                 size_t count,
                                 squall_sandbox **sandbox);

/**
 * An actor in the sandbox, whose root object is this value, such as the class of a module: a far reference to it, which
 * `squall_call` sends messages to. A far reference is answered as it is, so what `squall_call` has answered may be given to this: a
 * message to a value runs outside, whoever made the value.
 */
squall_error *squall_sandbox_actor(squall_sandbox *sandbox,
                                   const squall_value *root,
                                   squall_value **actor);

/**
 * Loads a module for a sandbox, as `squall_load` does: a far reference to what that would answer, in an actor of the sandbox. If a
 * module imports a module of the host that the sandbox is not granted, that is an error with `SQUALL_CODE_COMPILE`. What the module
 * runs to make its class runs in the sandbox.
 */
squall_error *squall_sandbox_load(squall_sandbox *sandbox,
                                  const char *path,
                                  uint32_t format,
                                  const char *bytes,
                                  size_t length,
                                  squall_value **actor);

/**
 * Ends a sandbox, whether it was over or not.
 */
squall_error *squall_sandbox_terminate(squall_sandbox *sandbox);

/**
 * Why a sandbox is over.
 */
squall_error *squall_sandbox_reason(squall_sandbox *sandbox, squall_reason *reason);

/**
 * What was reported about the end of a sandbox, a text.
 */
squall_error *squall_sandbox_report(squall_sandbox *sandbox, squall_value **report);

/**
 * What a sandbox has used: fuel; bytes, when they were last measured; strands now; messages. What has no budget is not counted, but
 * for strands.
 */
squall_error *squall_sandbox_usage(squall_sandbox *sandbox,
                                   squall_budgets *usage);

/**
 * Frees a handle of a sandbox. Null is nothing to free.
 */
void squall_sandbox_free(squall_sandbox *sandbox);

/**
 * `nil`.
 */
squall_value *squall_nil(void);

/**
 * `true` or `false`.
 */
squall_value *squall_boolean(bool boolean);

/**
 * An integer.
 */
squall_value *squall_integer(int64_t integer);

/**
 * A double.
 */
squall_value *squall_double(double number);

/**
 * A string of so many bytes in UTF-8.
 */
squall_error *squall_text(const char *bytes, size_t length, squall_value **value);

/**
 * A list of so many values, which are not taken over.
 */
squall_error *squall_list(const squall_value *const *elements, size_t count, squall_value **value);

/**
 * Another handle for the same value.
 */
squall_error *squall_value_copy(const squall_value *value, squall_value **copy);

/**
 * Frees a handle of a value. Null is nothing to free.
 */
void squall_value_free(squall_value *value);

/**
 * The kind of a value; `SQUALL_KIND_NIL` for what is none.
 */
squall_kind squall_value_kind(const squall_value *value);

/**
 * The Boolean that a value is.
 */
squall_error *squall_value_boolean(const squall_value *value, bool *boolean);

/**
 * The integer that a value is.
 */
squall_error *squall_value_integer(const squall_value *value, int64_t *integer);

/**
 * The number that a value is, as a double.
 */
squall_error *squall_value_double(const squall_value *value, double *number);

/**
 * The text that a value is, in UTF-8, with a NUL behind it. It lives as long as this handle. `length` may be null.
 */
squall_error *squall_value_text(const squall_value *value,
                                const char **bytes,
                                size_t *length);

/**
 * How many elements the list has that a value is.
 */
squall_error *squall_value_count(const squall_value *value, size_t *count);

/**
 * A new handle for an element of the list that a value is, counted from 0.
 */
squall_error *squall_value_element(const squall_value *value, size_t index, squall_value **element);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SQUALL_H */
