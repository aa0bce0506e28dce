" Newspeak, as Squall reads it.
if exists("b:current_syntax")
  finish
endif

syn case match
syn match   newspeakType        "\<\u\w*\>"
syn match   newspeakKeyword     "\<\a\w*:\ze\_[^:]"
syn match   newspeakSetter      "\<\a\w*::"
syn match   newspeakParameter   "\%(\s\|\[\|(\)\@<=:\a\w*"
syn match   newspeakOperator    "[-+*/\\~<>@%|&?!,=]\+"
syn match   newspeakEventual    "<-:"
syn match   newspeakAssignment  "::="
syn match   newspeakReturn      "\^"
syn match   newspeakNumber      "\<\d\+\%(r[0-9A-Z]\+\%(\.[0-9A-Z]\+\)\=\|\%(\.\d\+\)\=\%(e[-+]\=\d\+\)\=\)\>"
syn match   newspeakSymbol      "#\%(\a\w*:\=\%(\a\+:\)*\|[-+*/\\~<>=@%|&?!,]\+\)"
syn keyword newspeakClass       class
syn keyword newspeakAccess      public protected private
syn keyword newspeakReceiver    self super outer
syn keyword newspeakConstant    nil true false
syn keyword newspeakLiteral     objL
syn match   newspeakEscape      contained "''\|\\[tbnrf'\\]"
syn match   newspeakNoEscape    contained "\\[^tbnrf'\\]"
" A character may be a quote, which begins no string then.
syn match   newspeakCharacter   +"\%(""\|[^"]\)"+
" With a match group, the escape of a quote does not begin at the quote that opens an empty string.
syn region  newspeakString      matchgroup=newspeakString start="#\='" skip="\\.\|''" end="'" contains=newspeakEscape,newspeakNoEscape
syn region  newspeakComment     start="(\*" end="\*)" contains=newspeakComment,@Spell

hi def link newspeakType        Type
hi def link newspeakKeyword     Function
hi def link newspeakSetter      Identifier
hi def link newspeakParameter   Identifier
hi def link newspeakOperator    Operator
hi def link newspeakEventual    Special
hi def link newspeakAssignment  Operator
hi def link newspeakReturn      Statement
hi def link newspeakNumber      Number
hi def link newspeakSymbol      Constant
hi def link newspeakClass       Structure
hi def link newspeakAccess      StorageClass
hi def link newspeakReceiver    Keyword
hi def link newspeakConstant    Boolean
hi def link newspeakLiteral     Keyword
hi def link newspeakEscape      SpecialChar
hi def link newspeakNoEscape    Error
hi def link newspeakCharacter   Character
hi def link newspeakString      String
hi def link newspeakComment     Comment

let b:current_syntax = "newspeak"
