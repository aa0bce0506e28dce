-- A session of Neovim's nvim-dap with the debugger, by the configuration in docs/guide/34-debugging.md. `cargo xtask editors`
-- runs it:
--
--     SQUALL=FILE NVIM_DAP=FOLDER nvim --headless -u NONE -i NONE -S dap.lua
--
-- Prints `passed`, or what was wrong, and ends with an exit code.

local function finish(problem)
  io.stdout:write((problem and ('FAILED: ' .. problem) or 'passed') .. '\n')
  vim.cmd(problem and 'cquit 1' or 'qall!')
end

-- The configuration in the page for users, with the command to test.
local function configuration(project)
  local page = table.concat(vim.fn.readfile(project .. '/docs/guide/34-debugging.md'), '\n')
  local code = assert(page:match('```lua\n(.-)```'), 'the page has no configuration')
  return (code:gsub("command = 'squall'", "command = vim.env.SQUALL or 'squall'"))
end

local function run()
  local project = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h')
  vim.opt.runtimepath:prepend(vim.env.NVIM_DAP)
  vim.opt.runtimepath:prepend(project .. '/editors/vim')
  vim.cmd('filetype plugin on')
  assert(loadstring(configuration(project)))()
  local dap = require('dap')
  vim.cmd('edit ' .. vim.fn.fnameescape(project .. '/tests/debugger/steps.ns'))
  assert(vim.bo.filetype == 'newspeak', 'the type of the file is ' .. vim.bo.filetype)

  local stops, output, exit = {}, {}, nil
  -- The frames are known when the client has asked for the variables of the innermost one.
  local last
  dap.listeners.after.event_stopped.test = function(_, body) last = body end
  dap.listeners.after.variables.test = function(session)
    if last then table.insert(stops, { reason = last.reason, frame = session.current_frame }) end
    last = nil
  end
  dap.listeners.after.event_output.test = function(_, body) table.insert(output, body.output) end
  dap.listeners.after.event_exited.test = function(_, body) exit = body.exitCode end

  local function wait(what, condition)
    assert(vim.wait(30000, condition, 10), what)
  end

  -- Waits for a stop whose frames are known.
  local function stopped(reason, line)
    wait('no stop: ' .. reason, function() return #stops > 0 end)
    local stop = table.remove(stops, 1)
    assert(stop.reason == reason, vim.inspect(stop))
    assert(stop.frame.line == line, vim.inspect(stop.frame))
    return stop.frame
  end

  local function ask(command, arguments)
    local answer, problem
    dap.session():request(command, arguments, function(error, body) problem, answer = error, body end)
    wait(command .. ' has no answer', function() return answer ~= nil or problem ~= nil end)
    assert(not problem, command .. ' fails: ' .. vim.inspect(problem))
    return answer
  end

  vim.fn.cursor(19, 1)
  dap.set_breakpoint('i = 4')
  dap.run(dap.configurations.newspeak[1])
  local frame = stopped('breakpoint', 19)
  assert(frame.name == 'Steps>>sumTo:', vim.inspect(frame))
  local value = ask('evaluate', { expression = 'total + i', frameId = frame.id, context = 'hover' })
  assert(value.result == '10', vim.inspect(value))
  local targets = ask('completions', { text = 'to', column = 3, frameId = frame.id }).targets
  assert(targets[1].label == 'total', vim.inspect(targets))
  dap.step_out()
  stopped('step', 36)
  dap.step_into()
  stopped('step', 10)
  local watched = ask('dataBreakpointInfo', { name = 'self count', frameId = dap.session().current_frame.id })
  ask('setDataBreakpoints', { breakpoints = { { dataId = watched.dataId, accessType = 'write' } } })
  dap.clear_breakpoints()
  dap.continue()
  stopped('data breakpoint', 11)
  ask('setDataBreakpoints', { breakpoints = {} })
  assert(#ask('squall/steps', {}).steps == 17)
  dap.continue()
  wait('the program does not end', function() return exit ~= nil end)
  assert(exit == 7, 'the exit code is ' .. exit)
  assert(table.concat(output) == '13\n31\n', vim.inspect(output))
end

local succeeded, problem = pcall(run)
finish(not succeeded and tostring(problem) or nil)
