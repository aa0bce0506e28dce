local function bottomUp(d) if d == 0 then return {false, false} end return {bottomUp(d - 1), bottomUp(d - 1)} end
local function check(n) if not n[1] then return 1 end return 1 + check(n[1]) + check(n[2]) end
local function run(max)
  local s = check(bottomUp(max + 1))
  local keep = bottomUp(max)
  for d = 4, max, 4 do for _ = 1, 2 ^ (max - d + 4) do s = s + check(bottomUp(d)) end end
  return s + check(keep)
end
local system, depth, iterations = arg[1], tonumber(arg[2]), tonumber(arg[3])
for _ = 1, iterations do
  local t = os.clock()
  local s = run(depth)
  print(string.format("RESULT\tbintrees\t%s\tdepth %d, %d nodes\t%.2f\tms", system, depth, s, (os.clock() - t) * 1000))
end
