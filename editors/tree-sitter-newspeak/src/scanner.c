/* The part of the scanner that counts or looks ahead: comments `(* ... *)`, which nest, and `<-:`, whose token says which
   form of message follows. Everything else is in grammar.js. */

#include "tree_sitter/parser.h"

enum { COMMENT, EVENTUAL_UNARY, EVENTUAL_BINARY, EVENTUAL_KEYWORD, ERROR_SENTINEL };

void *tree_sitter_newspeak_external_scanner_create(void) { return NULL; }
void tree_sitter_newspeak_external_scanner_destroy(void *payload) { (void)payload; }
unsigned tree_sitter_newspeak_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}
void tree_sitter_newspeak_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

static bool is_blank(int32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool is_letter(int32_t c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0x80 && !is_blank(c));
}

static bool is_word(int32_t c) { return is_letter(c) || (c >= '0' && c <= '9'); }

/* Reads a comment whose opening bracket was read, up to its end or that of the text. */
static bool read_comment(TSLexer *lexer) {
  unsigned depth = 1;
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    lexer->advance(lexer, false);
    if (c == '(' && lexer->lookahead == '*') {
      lexer->advance(lexer, false);
      depth++;
    } else if (c == '*' && lexer->lookahead == ')') {
      lexer->advance(lexer, false);
      if (--depth == 0) return true;
    }
  }
  return false;
}

static bool scan_comment(TSLexer *lexer) {
  lexer->advance(lexer, false);
  if (lexer->lookahead != '*') return false;
  lexer->advance(lexer, false);
  if (!read_comment(lexer)) return false;
  lexer->mark_end(lexer);
  lexer->result_symbol = COMMENT;
  return true;
}

/* Skips blanks and comments, which do not belong to the token. */
static void skip_blanks(TSLexer *lexer) {
  for (;;) {
    while (is_blank(lexer->lookahead) && !lexer->eof(lexer)) lexer->advance(lexer, false);
    if (lexer->lookahead != '(') return;
    lexer->advance(lexer, false);
    if (lexer->lookahead != '*') return;
    lexer->advance(lexer, false);
    if (!read_comment(lexer)) return;
  }
}

static bool scan_eventual(TSLexer *lexer, const bool *valid_symbols) {
  const char *arrow = "<-:";
  for (; *arrow; arrow++) {
    if (lexer->lookahead != *arrow) return false;
    lexer->advance(lexer, false);
  }
  lexer->mark_end(lexer);
  skip_blanks(lexer);
  int form = EVENTUAL_BINARY;
  if (is_letter(lexer->lookahead)) {
    while (is_word(lexer->lookahead)) lexer->advance(lexer, false);
    form = lexer->lookahead == ':' ? EVENTUAL_KEYWORD : EVENTUAL_UNARY;
  }
  if (!valid_symbols[form]) return false;
  lexer->result_symbol = (TSSymbol)form;
  return true;
}

bool tree_sitter_newspeak_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
  (void)payload;
  while (is_blank(lexer->lookahead) && !lexer->eof(lexer)) lexer->advance(lexer, true);
  if (lexer->lookahead == '(' && valid_symbols[COMMENT]) return scan_comment(lexer);
  if (lexer->lookahead == '<') return scan_eventual(lexer, valid_symbols);
  return false;
}
