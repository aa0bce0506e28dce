" The text form of Squall's bytecode: comments, indentation, layout by `squall format`.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=;\ %s comments=:; expandtab shiftwidth=4 softtabstop=4
command! -buffer SquallFormat write | silent execute '!squall format ' . shellescape(expand('%')) | edit
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop<"
