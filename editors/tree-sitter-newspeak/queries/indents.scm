; Contents of brackets are one step further in.
[
  (class_header)
  (members)
  (method_body)
  (block)
  (array)
  (parenthesized)
] @indent

[")" "]" "}"] @outdent
