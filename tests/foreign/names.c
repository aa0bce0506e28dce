/* If the library is loaded before the system's (`LD_PRELOAD`), there is a host whose addresses nobody ever tells. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (host && strcmp(host, "silent.example") == 0)
        for (;;) pause();
    return ((resolver)dlsym(RTLD_NEXT, "getaddrinfo"))(host, service, hints, found);
}
