; Highlights by the names that Neovim, Helix and tree-sitter's own command know.

(comment) @comment
(interpreter_line) @comment

(string) @string
(character) @character
(symbol) @string.special.symbol
(number) @number
[(true) (false)] @boolean
(nil) @constant.builtin

[(self) (super)] @variable.builtin
(outer "outer" @keyword)
(object_literal "objL" @keyword)
(class_declaration "class" @keyword)
(access) @keyword.modifier
"Newspeak3" @keyword

(class_declaration name: (identifier) @type)
(superclass (identifier) @type)
(mixin (identifier) @type)
(outer name: (identifier) @type)
(type) @type
(type_name (identifier) @type)

(method pattern: (unary_pattern (identifier) @function.method))
(class_declaration factory: (unary_pattern (identifier) @constructor))
(binary_pattern selector: (operator) @function.method)
(method pattern: (keyword_pattern selector: (keyword) @function.method))
(class_declaration factory: (keyword_pattern selector: (keyword) @constructor))
(parameter name: (identifier) @variable.parameter)

(slot name: (identifier) @variable.member)
(imports name: (identifier) @variable.member)
(local name: (identifier) @variable)
(setter) @variable

(unary_selector) @function.method.call
(keyword_send selector: (keyword) @function.method.call)
(keyword_message selector: (keyword) @function.method.call)
(operator) @operator
(eventual) @operator

((identifier) @type
  (#match? @type "^[A-Z]"))

(return "^" @keyword.return)
["=" "::=" "<:"] @operator
["." ";" ":"] @punctuation.delimiter
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
(slots ["|" "||"] @punctuation.bracket)
(locals ["|" "||"] @punctuation.bracket)
