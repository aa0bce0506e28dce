-- A session of Neovim with the language server, by the configuration in editors/README.md. `cargo xtask editors` runs it:
--
--     SQUALL=FILE nvim --headless -u NONE -i NONE -S neovim.lua
--
-- Prints `passed`, or what was wrong, and ends with an exit code.

local function finish(problem)
  io.stdout:write((problem and ('FAILED: ' .. problem) or 'passed') .. '\n')
  vim.cmd(problem and 'cquit 1' or 'qall!')
end

-- The configuration for this version of Neovim in the page for users, with the command to test.
local function configuration(editors)
  local page = table.concat(vim.fn.readfile(editors .. '/README.md'), '\n')
  local heading = vim.lsp.config and 'Neovim 0.11' or 'Earlier versions of Neovim'
  local code = assert(page:match(heading .. '.-```lua\n(.-)```'), 'the page has no configuration')
  return (code:gsub("'squall', 'lsp'", "vim.env.SQUALL or 'squall', 'lsp'"))
end

local function run()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  local file = folder .. '/a.ns'
  local text = 'class A = ()(\n  (* The answer. *)\n  public answer = ( ^ 42 )\n  public twice = ( ^ self answer+self answer )\n)\n'
  vim.fn.writefile(vim.split(text, '\n'), file, 'b')
  local editors = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h') .. '/editors'
  vim.opt.runtimepath:prepend(editors .. '/vim')
  vim.cmd('filetype plugin on')
  assert(loadstring(configuration(editors)))()
  vim.cmd('edit ' .. vim.fn.fnameescape(file))
  assert(vim.bo.filetype == 'newspeak', 'the type of the file is ' .. vim.bo.filetype)
  local client
  assert(vim.wait(20000, function()
    client = next(vim.lsp.buf_get_clients(0))
    return client ~= nil
  end, 20), 'the server does not start')

  local function ask(method, more)
    local parameters = vim.tbl_extend('force', vim.lsp.util.make_position_params(), more or {})
    local answers = assert(vim.lsp.buf_request_sync(0, method, parameters, 20000), method .. ' has no answer')
    local answer = answers[client]
    assert(answer and not answer.error, method .. ' fails: ' .. vim.inspect(answer))
    return answer.result
  end

  vim.fn.cursor(4, 27)
  local hover = vim.inspect(ask('textDocument/hover'))
  assert(hover:find('The answer'), hover)
  local definition = vim.inspect(ask('textDocument/definition'))
  assert(definition:find('line = 2'), definition)
  local symbols = vim.inspect(ask('textDocument/documentSymbol'))
  assert(symbols:find('answer') and symbols:find('twice'), symbols)
  local edits = ask('textDocument/formatting', { options = { tabSize = 2, insertSpaces = true } })
  vim.lsp.util.apply_text_edits(edits, 0, 'utf-16')
  assert(vim.fn.getline(4) == '  public twice = ( ^ self answer + self answer )', vim.fn.getline(4))
  vim.fn.setline(3, '  public answer = ( ^ ) )')
  local found = vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
  assert(found, 'a mistake is not shown')
  vim.fn.setline(3, '  public answer = ( ^ 43 )')
  assert(vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 20), 'a mistake stays')
  vim.lsp.stop_client(client)
end

local succeeded, problem = pcall(run)
finish(not succeeded and tostring(problem) or nil)
