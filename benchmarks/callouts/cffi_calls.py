"""CPython's cffi: by declarations alone, and compiled.

cffi_calls.py LIBRARY calls|long SIZE FOLDER
"""

import os
import sys
import threading
import time

from cffi import FFI

library, workload, size, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


def report(detail, value, unit):
    print(f"RESULT\t{workload}\tcffi\t{detail}\t{value:.3f}\t{unit}", flush=True)


def calls(detail, function):
    for _ in range(3):
        total = 0
        begin = time.perf_counter()
        for _ in range(size):
            total += function()
        elapsed = time.perf_counter() - begin
        assert total == 42 * size
        report(detail, elapsed * 1e9 / size, "ns")


def naps(count, function):
    begin = time.perf_counter()
    threads = [threading.Thread(target=function, args=(size,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report(f"{count} at a time", (time.perf_counter() - begin) * 1e3, "ms")


def compiled():
    ffi = FFI()
    ffi.cdef("int get_int(void);")
    options = [library, "-Wl,-rpath," + os.path.dirname(library)]
    ffi.set_source("_callee", "int get_int(void);", extra_link_args=options)
    ffi.compile(tmpdir=folder)
    sys.path.insert(0, folder)
    import _callee

    return _callee.lib.get_int


declared = FFI()
declared.cdef("int get_int(void); int sleep_ms(int);")
opened = declared.dlopen(library)
if workload == "calls":
    calls("get_int", opened.get_int)
    calls("get_int, compiled", compiled())
else:
    for count in (1, 2, 100):
        naps(count, opened.sleep_ms)
