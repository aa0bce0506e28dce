-- One feature at a time: luajit micro.lua SYSTEM WORKLOAD SIZE ITERATIONS. See micro.ns.
-- Lua has no `finally`; a protected call with the work after it stands for it.

local Sender = {}
Sender.__index = Sender
function Sender:fibonacci(n)
  if n < 2 then return n end
  return self:fibonacci(n - 1) + self:fibonacci(n - 2)
end

local function shape(count)
  local class = {}
  class.__index = class
  function class:corners() return count end
  return setmetatable({}, class)
end

local function evaluate(first, last, block)
  for i = first, last do block(i) end
end

local function firstAbove(limit, numbers)
  for i = 1, #numbers do
    if numbers[i] > limit then return numbers[i] end
  end
  return 0
end

local function refuse(number) error({number = number}) end
local function attempt(number) local result = refuse(number); return result end

local workloads = {}

function workloads.sends(size) return setmetatable({}, Sender):fibonacci(size) end

function workloads.polymorphic(size)
  local shapes = {shape(0), shape(3), shape(4), shape(5)}
  local corners = 0
  for i = 1, size do corners = corners + shapes[i % 4 + 1]:corners() end
  return corners
end

function workloads.blocks(size)
  local sum = 0
  evaluate(1, size, function(i) sum = sum + i end)
  return sum
end

function workloads.nonLocalReturns(size)
  local numbers = {3, 1, 4, 1, 5, 9, 2, 6}
  local sum = 0
  for _ = 1, size do sum = sum + firstAbove(3, numbers) end
  return sum
end

function workloads.exceptions(size)
  local sum = 0
  for i = 1, size do
    local _, refusal = pcall(attempt, i)
    sum = sum + refusal.number
  end
  return sum
end

function workloads.ensures(size)
  local inside, sum = 0, 0
  for _ = 1, size do
    inside = inside + 1
    local isFine, result = pcall(function() return inside end)
    inside = inside - 1
    if not isFine then error(result) end
    sum = sum + result
  end
  return sum
end

function workloads.strings(size)
  local pieces = {}
  for i = 1, size do pieces[#pieces + 1] = 'number ' .. i end
  return #table.concat(pieces, ', ')
end

function workloads.dictionaries(size)
  local counts = {}
  for i = 1, size do
    local key = 'k' .. i % 100
    counts[key] = (counts[key] or 0) + 1
  end
  return counts.k7
end

function workloads.arrays(size)
  local array, sum = {}, 0
  for i = 1, size do array[i] = i end
  for i = 1, math.floor(size / 2) do
    array[i], array[size + 1 - i] = array[size + 1 - i], array[i]
  end
  for i = 1, size do sum = sum + array[i] * (i % 2) end
  return sum
end

local system, name, size, iterations = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
for _ = 1, iterations do
  local begin = os.clock()
  local result = workloads[name](size)
  local time = (os.clock() - begin) * 1000
  print(string.format('RESULT\t%s\t%s\t%d gives %.0f\t%.3f\tms', name, system, size, result, time))
end
