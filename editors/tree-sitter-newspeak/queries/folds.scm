; What can be folded.
[
  (class_body)
  (class_header)
  (members)
  (method_body)
  (block)
  (array)
  (comment)
] @fold
