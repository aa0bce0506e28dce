" Classifies places of texts by the syntax file for Newspeak. `syntax.py` runs it with the variables g:places, a file with
" a JSON list of files and places, and g:answers, the file for the answer.
set encoding=utf-8
let s:answer = []
for s:entry in json_decode(join(readfile(g:places), "\n"))
  execute "edit " . fnameescape(s:entry.file)
  syntax on
  setlocal filetype=newspeak
  syntax sync fromstart
  let s:kinds = []
  for [s:line, s:column] in s:entry.places
    let s:byte = byteidx(getline(s:line), s:column - 1) + 1
    let s:names = join(map(synstack(s:line, s:byte), 'synIDattr(v:val, "name")'))
    if s:names =~# 'Comment'
      call add(s:kinds, 'comment')
    elseif s:names =~# 'String\|Character'
      call add(s:kinds, 'string')
    else
      call add(s:kinds, 'code')
    endif
  endfor
  call add(s:answer, s:kinds)
  bwipeout!
endfor
call writefile([json_encode(s:answer)], g:answers)
qall!
