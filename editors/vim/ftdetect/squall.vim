" Files of Squall: Newspeak, and the text form of bytecode.
autocmd BufNewFile,BufRead *.ns set filetype=newspeak
autocmd BufNewFile,BufRead *.sqasm set filetype=sqasm
