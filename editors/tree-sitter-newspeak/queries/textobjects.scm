; What Helix and Neovim can select and jump to.
(method body: (_) @function.inside) @function.around
(class_declaration body: (_) @class.inside) @class.around
(comment) @comment.around
(parameter) @parameter.inside
