/**
 * The grammar of Newspeak in the dialect of Squall, for tree-sitter. Editors highlight, fold and select by it.
 *
 * It accepts a little more than `squall check` does, such as statements behind a `^`. The rules have the names that
 * docs/guide uses. What needs more than one token of foresight or a count is in src/scanner.c: comments, which nest, and
 * `<-:`, of which there are three tokens, by the form of the message behind it.
 */

const LETTER = "[\\p{Alphabetic}_]";
const WORD = `${LETTER}[\\p{Alphabetic}\\p{N}_]*`;

/** One or more elements with a period between them and perhaps behind the last one. Lone periods do no harm. */
const sentences = (element) =>
  choice(element, seq(repeat1(choice(seq(element, "."), ".")), optional(element)));

module.exports = grammar({
  name: "newspeak",

  externals: ($) => [$.comment, $._eventual_unary, $._eventual_binary, $._eventual_keyword, $._error_sentinel],

  extras: ($) => [/\s/, $.comment],

  word: ($) => $.identifier,

  supertypes: ($) => [$._expression, $._primary, $._literal],

  inline: ($) => [$._name],

  rules: {
    module: ($) =>
      seq(
        optional($.interpreter_line),
        optional(seq("Newspeak3", $.string)),
        optional($.access),
        $.class_declaration,
      ),

    interpreter_line: () => token(prec(1, /#![^\n]*/)),

    // Classes

    class_declaration: ($) =>
      seq(
        "class",
        field("name", $.identifier),
        optional(field("factory", choice($.unary_pattern, $.keyword_pattern))),
        optional(seq("^", $.type)),
        "=",
        choice(
          seq(optional($._inheritance), field("body", $.class_body)),
          seq($.superclass, repeat1(seq("<:", $.mixin)), "."),
        ),
      ),

    _inheritance: ($) => prec(1, seq($.superclass, repeat(seq("<:", $.mixin)))),

    superclass: ($) => $._clause,
    mixin: ($) => $._clause,

    // As many words as possible belong to a clause, also to the last one of an object literal without a body.
    _clause: ($) =>
      prec.right(
        choice(
          seq("outer", $.identifier, optional(seq($.identifier, optional($._clause_message)))),
          seq(choice($.self, $.super), $.identifier, optional($._clause_message)),
          seq($.identifier, optional($._clause_message)),
        ),
      ),

    _clause_message: ($) =>
      choice(alias($.identifier, $.unary_selector), alias($._keyword_arguments, $.keyword_message)),

    class_body: ($) =>
      seq(
        field("initializer", $.class_header),
        field("members", $.members),
        optional(seq(":", field("class_methods", $.members))),
      ),

    class_header: ($) =>
      seq("(", choice(alias("||", $.slots), seq(optional($.slots), optional(sentences($._expression)))), ")"),

    slots: ($) =>
      choice(
        seq("|", repeat(choice($.slot, $.imports)), "|"),
        seq("||", repeat1(choice($.slot, $.imports)), "||"),
      ),

    slot: ($) =>
      prec.right(seq(optional($.access), field("name", $.identifier), optional($.type), optional($._initial_value))),

    _initial_value: ($) => seq(choice("=", "::="), field("value", $._expression), "."),

    imports: ($) =>
      seq(
        optional($.access),
        field("name", $.identifier),
        optional($.type),
        repeat1(seq(",", field("name", $.identifier), optional($.type))),
        "=",
        field("value", $._expression),
        ".",
      ),

    members: ($) => seq("(", repeat(choice($.nested_class, $.method)), ")"),

    nested_class: ($) => seq(optional($.access), $.class_declaration),

    access: () => choice("private", "protected", "public"),

    // Methods

    method: ($) =>
      seq(
        optional($.access),
        field("pattern", choice($.unary_pattern, $.binary_pattern, $.keyword_pattern)),
        optional(seq("^", $.type)),
        "=",
        field("body", $.method_body),
      ),

    unary_pattern: ($) => $._name,

    binary_pattern: ($) => seq(field("selector", alias($._operator, $.operator)), $.parameter),

    keyword_pattern: ($) => repeat1(seq(field("selector", $.keyword), $.parameter)),

    parameter: ($) => seq(field("name", $.identifier), optional($.type)),

    // A method may be called like a word that has a meaning elsewhere.
    _name: ($) => choice($.identifier, alias("class", $.identifier)),

    method_body: ($) => seq("(", optional($.locals), optional($._statements), ")"),

    locals: ($) => choice("||", seq("|", repeat($.local), "|")),

    local: ($) => prec.right(seq(field("name", $.identifier), optional($.type), optional($._initial_value))),

    _statements: ($) => sentences(choice($._expression, $.return)),

    return: ($) => seq("^", $._expression),

    // Expressions

    _expression: ($) => choice($.setter_send, $.cascade, $.keyword_send, $._formula),

    setter_send: ($) => seq(field("name", $.setter), field("value", $._expression)),

    cascade: ($) =>
      seq(
        field("first", choice($.keyword_send, $._formula)),
        repeat1(
          seq(
            ";",
            choice(
              alias($.identifier, $.unary_selector),
              alias($._binary_message, $.binary_message),
              alias($._keyword_arguments, $.keyword_message),
            ),
          ),
        ),
      ),

    _binary_message: ($) => seq(alias($._operator, $.operator), $._operand),

    keyword_send: ($) =>
      choice(
        $._keyword_arguments,
        seq(
          field("receiver", $._formula),
          optional(alias($._eventual_keyword, $.eventual)),
          $._keyword_arguments,
        ),
      ),

    _keyword_arguments: ($) =>
      prec.right(repeat1(seq(field("selector", $.keyword), field("argument", $._formula)))),

    _formula: ($) => choice($._operand, $.binary_send),

    binary_send: ($) =>
      prec.left(3, seq(
        field("receiver", $._formula),
        optional(alias($._eventual_binary, $.eventual)),
        field("selector", alias($._operator, $.operator)),
        field("argument", $._operand),
      )),

    _operand: ($) => choice($._primary, $.unary_send),

    unary_send: ($) =>
      prec.left(4, seq(
        field("receiver", $._operand),
        optional(alias($._eventual_unary, $.eventual)),
        field("selector", alias($.identifier, $.unary_selector)),
      )),

    _primary: ($) =>
      choice(
        $.identifier,
        $.self,
        $.super,
        $.outer,
        $.parenthesized,
        $.block,
        $.array,
        $.object_literal,
        $._literal,
      ),

    self: () => "self",
    super: () => "super",
    outer: ($) => seq("outer", field("name", $.identifier)),

    parenthesized: ($) => seq("(", $._expression, ")"),

    block: ($) =>
      seq(
        "[",
        choice(
          seq(optional($.locals), optional($._statements)),
          seq($.block_parameters, "|", optional($.locals), optional($._statements)),
          // The second bar opens the locals.
          seq($.block_parameters, alias($._locals_behind_bars, $.locals), optional($._statements)),
        ),
        "]",
      ),

    block_parameters: ($) => repeat1(seq(":", $.parameter)),

    _locals_behind_bars: ($) => seq("||", repeat($.local), "|"),

    array: ($) => seq("{", optional(sentences($._expression)), "}"),

    object_literal: ($) =>
      prec.right(
        seq("objL", choice(seq(optional($._inheritance), $.class_body), seq($.superclass, repeat1(seq("<:", $.mixin))))),
      ),

    // Types, which say what an author expects, and which nothing checks

    type: ($) => seq("<", $._type_union, ">"),

    _type_union: ($) => seq($._type_term, repeat(choice(seq(choice("|", ":", "/"), $._type_term), $.tuple_type))),

    _type_term: ($) => prec.right(seq($._type_factor, repeat($.identifier))),

    _type_factor: ($) =>
      choice(
        $.type_name,
        $.tuple_type,
        $.block_type,
        seq("(", $._type_union, ")"),
      ),

    type_name: ($) =>
      prec.right(
        seq($.identifier, optional(seq("[", $._type_union, repeat(seq(",", $._type_union)), "]"))),
      ),

    tuple_type: ($) => prec.right(seq("{", optional(sentences($._type_union)), "}")),

    block_type: ($) =>
      choice(
        seq("[", repeat1(seq(":", $._type_term)), optional(seq("|", $._type_union)), "]"),
        seq("[", optional($._type_union), "]"),
      ),

    // Words

    _literal: ($) => choice($.number, $.string, $.character, $.symbol, $.nil, $.true, $.false),

    nil: () => "nil",
    true: () => "true",
    false: () => "false",

    identifier: () => new RustRegex(WORD),
    keyword: () => new RustRegex(`${WORD}:`),
    setter: () => new RustRegex(`${WORD}::`),

    number: () => /-?\d+(\.\d+)?(e-?\d+)?|\d+r-?[0-9A-Z]+(\.[0-9A-Z]+)?(e-?\d+)?/,

    string: () => /'([^'\\]|''|\\(.|\n))*'/,

    // Exactly one character; a double quote is doubled.
    character: () => /"([^"]|"")"/,

    symbol: () => new RustRegex(`#('([^'\\\\]|''|\\\\(.|\\n))*'|${WORD}(:${WORD})*:?|[~&|*/\\\\+=><,@%!-]+)`),

    _operator: () => choice("=", "|", "||", "<", ">", "/", ",", /[~&|*\/\\+=><,@%!\-]+/),
  },
});
