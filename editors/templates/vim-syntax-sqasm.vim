" The text form of Squall's bytecode.
if exists("b:current_syntax")
  finish
endif

syn case match
syn keyword sqasmDeclaration include path main module type import export strings class method class_method
syn keyword sqasmDeclaration block function process outer position accessor factory initializer own_initializer
syn keyword sqasmDeclaration slot nested registers home let at word catch catch_fault ensure
syn keyword sqasmModifier    public protected private mutable lexical instance super super_initializer
syn keyword sqasmModifier    mixin_initializer enclosing captures class_slot from to into handler
syn keyword sqasmType        any bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 double
syn keyword sqasmType        tuple list map channel reader writer barrier bucket
syn keyword sqasmConstant    nil true false
syn keyword sqasmMnemonic    @MNEMONICS @
syn match   sqasmRegister    "\<r\d\+\>"
syn match   sqasmName        "\$\w\+\|\<\%(fn\|class\|type\)\d\+\>"
syn match   sqasmIndex       "\<\%(k\|site\|str\)\d\+\>\|@\s*\d\+"
syn match   sqasmNumber      "\%(\w\)\@<!-\=\%(0x\x\+\|\d\+\%(\.\d\+\)\=\%([eE][-+]\=\d\+\)\=\)\>"
syn match   sqasmLabel       "^\s*\h\w*\s*:\ze\s*\%(;.*\)\=$"
syn match   sqasmEscape      contained "\\\%(u{\x\+}\|[nrt0\"\\]\)"
syn region  sqasmString      start=+#\="+ skip=+\\.+ end=+"+ oneline contains=sqasmEscape
syn match   sqasmComment     ";.*$" contains=@Spell

hi def link sqasmDeclaration Structure
hi def link sqasmModifier    StorageClass
hi def link sqasmType        Type
hi def link sqasmConstant    Boolean
hi def link sqasmMnemonic    Statement
hi def link sqasmRegister    Identifier
hi def link sqasmName        Function
hi def link sqasmIndex       Constant
hi def link sqasmNumber      Number
hi def link sqasmLabel       Label
hi def link sqasmEscape      SpecialChar
hi def link sqasmString      String
hi def link sqasmComment     Comment

let b:current_syntax = "sqasm"
