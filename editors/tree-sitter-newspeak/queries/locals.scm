; Where names of parameters and locals hold. Slots and messages are found by the language server.
[
  (class_declaration)
  (method)
  (block)
  (object_literal)
] @local.scope

(parameter name: (identifier) @local.definition)
(local name: (identifier) @local.definition)
(slot name: (identifier) @local.definition)

(identifier) @local.reference
