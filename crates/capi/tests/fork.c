/* A process that forks while a machine runs: the child's calls are refused at once, and the parent's go on. An answer that
   is a far reference is no end of its host either. */

#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <squall.h>

static void must(int at, bool is_so) {
    if (is_so) return;
    fprintf(stderr, "line %d is not so\n", at);
    _exit(1);
}
#define is(condition) must(__LINE__, (condition))

static void is_code(int at, squall_error *error, squall_code code) {
    if (squall_error_code(error) != code) fprintf(stderr, "%d: %s\n", squall_error_code(error), squall_error_message(error));
    must(at, squall_error_code(error) == code);
    squall_error_free(error);
}
#define expect(call, code) is_code(__LINE__, (call), (code))

static const char guest[] = "class Guest = ()(\n  public make = ( ^ self )\n  public + other = ( ^ 42 )\n)\n";

static int child(squall_vm *vm, squall_value *platform) {
    squall_value *answer = NULL;
    squall_vm *second = NULL;
    int32_t code = 0;
    expect(squall_call(vm, platform, "kernel", NULL, 0, &answer), SQUALL_CODE_FORKED);
    expect(squall_load(vm, "guest.ns", SQUALL_FORMAT_NEWSPEAK, guest, strlen(guest), &answer), SQUALL_CODE_FORKED);
    expect(squall_start(NULL, &second), SQUALL_CODE_ALREADY_STARTED);
    expect(squall_end(vm, 3, &code), SQUALL_CODE_OK);
    return 0;
}

int main(void) {
    squall_vm *vm = NULL;
    squall_value *platform = NULL, *answer = NULL, *actor = NULL, *class = NULL;
    expect(squall_start(NULL, &vm), SQUALL_CODE_OK);
    expect(squall_platform(vm, &platform), SQUALL_CODE_OK);
    pid_t forked = fork();
    if (forked == 0) _exit(child(vm, platform));
    int status = 0;
    is(waitpid(forked, &status, 0) == forked && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect(squall_call(vm, platform, "kernel", NULL, 0, &answer), SQUALL_CODE_OK);
    squall_value_free(answer);

    squall_sandbox *sandbox = NULL;
    squall_value *one = squall_integer(1);
    const squall_value *arguments[] = {one};
    int64_t number = 0;
    expect(squall_sandbox_new(vm, "guest", NULL, NULL, 0, &sandbox), SQUALL_CODE_OK);
    expect(squall_sandbox_load(sandbox, "guest.ns", SQUALL_FORMAT_NEWSPEAK, guest, strlen(guest), &class), SQUALL_CODE_OK);
    expect(squall_call(vm, class, "new", NULL, 0, &actor), SQUALL_CODE_OK);
    expect(squall_value_integer(actor, &number), SQUALL_CODE_KIND);
    /* The guest's actor processes the message. */
    expect(squall_call(vm, actor, "+", arguments, 1, &answer), SQUALL_CODE_OK);
    expect(squall_value_integer(answer, &number), SQUALL_CODE_OK);
    is(number == 42);
    int32_t code = 0;
    expect(squall_end(vm, 0, &code), SQUALL_CODE_OK);
    printf("done\n");
    return 0;
}
