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
syn keyword sqasmMnemonic    move load_integer load_special load_constant load_raw load_captured make_context load_context store_context make_closure make_home load_captures enclosing jump loop branch_true branch_false branch_nil branch_not_nil for_enter for_loop send0 send1 send2 send send_eventual send_eventual_only call primitive return return_home return_nonlocal resume_unwind leave_home make_class publish_class instantiate check_value initialize_slot make_array store_element add sub mul div rem neg and or xor not shl shr eq ne lt le convert box unbox jump_if jump_unless loop_if loop_unless add_checked sub_checked mul_checked div_checked neg_checked convert_exact make_tuple tuple_get tuple_set empty make_list fill_list load_bytes length list_get list_set list_append list_insert list_remove list_exchange list_slice list_concatenate map_get map_put map_remove map_has map_key map_value take load_function call_indirect spawn spawn_indirect end_process par branch end_branch par_for make_channel reading_end writing_end read write accept end_accept poison alt alt_priority alt_if alt_read alt_after alt_skip alt_end make_barrier enrol resign sync make_bucket fall flush yield sleep now raise raised fault_of
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
