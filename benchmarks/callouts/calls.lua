-- LuaJIT's FFI: calls.lua LIBRARY SYSTEM SIZE
local ffi = require 'ffi'
ffi.cdef [[ int get_int(void); ]]
local library, system, size = ffi.load(arg[1]), arg[2], tonumber(arg[3])

for _ = 1, 3 do
  local sum, begin = 0, os.clock()
  for _ = 1, size do sum = sum + library.get_int() end
  local time = os.clock() - begin
  assert(sum == 42 * size)
  print(string.format('RESULT\tcalls\t%s\tget_int\t%.3f\tns', system, time * 1e9 / size))
end
