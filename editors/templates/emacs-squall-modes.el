;;; squall-modes.el --- Modes for Newspeak and Squall's bytecode -*- lexical-binding: t; -*-

;;; Commentary:

;; `newspeak-mode' is for files of Newspeak (.ns), `sqasm-mode' for the text form of bytecode (.sqasm).

;;; Code:

(defconst sqasm-mnemonics
  '(@MNEMONICS"@)
  "The instructions of Squall's bytecode.")

(defconst sqasm-declarations
  '("include" "path" "main" "module" "type" "import" "export" "strings" "class" "method" "class_method"
    "block" "function" "process" "outer" "position" "accessor" "factory" "initializer" "own_initializer"
    "slot" "nested" "registers" "home" "let" "at" "word" "catch" "catch_fault" "ensure")
  "What begins a declaration in the text form.")

(defvar sqasm-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?\; "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?$ "_" table)
    table)
  "The syntax table of `sqasm-mode'.")

(defconst sqasm-font-lock-keywords
  `(("^\\s-*\\([A-Za-z_][A-Za-z0-9_]*\\)\\s-*:\\s-*\\(?:;.*\\)?$" 1 font-lock-constant-face)
    (,(concat "^\\s-*" (regexp-opt sqasm-mnemonics 'symbols)) 1 font-lock-keyword-face)
    (,(concat "^\\s-*" (regexp-opt sqasm-declarations 'symbols)) 1 font-lock-preprocessor-face)
    (,(regexp-opt '("any" "bool" "i8" "i16" "i32" "i64" "u8" "u16" "u32" "u64" "f32" "f64" "double" "tuple"
                    "list" "map" "channel" "reader" "writer" "barrier" "bucket" "function" "process")
                  'symbols)
     . font-lock-type-face)
    (,(regexp-opt '("nil" "true" "false") 'symbols) . font-lock-constant-face)
    (,(regexp-opt '("public" "protected" "private" "mutable" "lexical" "instance" "super" "super_initializer"
                    "mixin_initializer" "enclosing" "captures" "class_slot" "from" "to" "into" "handler")
                  'symbols)
     . font-lock-builtin-face)
    ("\\_<r[0-9]+\\_>" . font-lock-variable-name-face)
    ("\\$[A-Za-z0-9_]+\\|\\_<\\(?:fn\\|class\\|type\\)[0-9]+\\_>" . font-lock-function-name-face))
  "What `sqasm-mode' highlights.")

(defun sqasm-indent-line ()
  "Indent as `squall format' does: what is between braces by four columns, labels not at all."
  (interactive)
  (let ((column (save-excursion
                  (beginning-of-line)
                  (cond ((looking-at "\\s-*}") 0)
                        ((looking-at "\\s-*[A-Za-z_][A-Za-z0-9_]*\\s-*:\\s-*\\(?:;.*\\)?$") 0)
                        ((> (car (syntax-ppss)) 0) 4)
                        (t 0)))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

(defun sqasm-format-file ()
  "Save the file and have `squall format' lay it out."
  (interactive)
  (save-buffer)
  (call-process "squall" nil nil nil "format" (buffer-file-name))
  (revert-buffer t t t))

;;;###autoload
(define-derived-mode sqasm-mode prog-mode "Sqasm"
  "A mode for the text form of Squall's bytecode."
  (setq-local comment-start "; ")
  (setq-local comment-end "")
  (setq-local indent-line-function #'sqasm-indent-line)
  (setq-local font-lock-defaults '(sqasm-font-lock-keywords)))

(defvar newspeak-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?\( "()1n" table)
    (modify-syntax-entry ?\) ")(4n" table)
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?' "\"" table)
    (modify-syntax-entry ?\" "." table)
    (modify-syntax-entry ?_ "_" table)
    table)
  "The syntax table of `newspeak-mode'.")

(defconst newspeak-font-lock-keywords
  '(("\\_<\\(class\\)\\s-+\\([A-Za-z_][A-Za-z0-9_]*\\)"
     (1 font-lock-keyword-face) (2 font-lock-type-face))
    ("\\_<\\(?:public\\|protected\\|private\\)\\_>" . font-lock-builtin-face)
    ("\\_<\\(?:self\\|super\\|outer\\|objL\\)\\_>" . font-lock-keyword-face)
    ("\\_<\\(?:nil\\|true\\|false\\)\\_>" . font-lock-constant-face)
    ("#[A-Za-z_][A-Za-z0-9_:]*" . font-lock-constant-face)
    ("\\_<[A-Za-z_][A-Za-z0-9_]*::" . font-lock-variable-name-face)
    ("\\_<[A-Za-z_][A-Za-z0-9_]*:" . font-lock-function-name-face)
    ("\\_<[A-Z][A-Za-z0-9_]*\\_>" . font-lock-type-face)
    ("\\^\\|<-:" . font-lock-keyword-face))
  "What `newspeak-mode' highlights.")

;; A character such as "'" is no string: its quotes are fences, and what is between them begins and escapes nothing.
(defconst newspeak-syntax-propertize
  (syntax-propertize-rules
   ("\\(\"\\)\\(\"\"\\|[^\"]\\)\\(\"\\)"
    (1 (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) (string-to-syntax "|")))
    (2 (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) (string-to-syntax ".")))
    (3 (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0)))) (string-to-syntax "|")))))
  "Gives characters their syntax.")

;;;###autoload
(define-derived-mode newspeak-mode prog-mode "Newspeak"
  "A mode for Newspeak, as Squall reads it."
  (setq-local comment-start "(* ")
  (setq-local comment-end " *)")
  (setq-local indent-tabs-mode nil)
  (setq-local syntax-propertize-function newspeak-syntax-propertize)
  (setq-local font-lock-defaults '(newspeak-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.sqasm\\'" . sqasm-mode))
;;;###autoload
(add-to-list 'auto-mode-alist '("\\.ns\\'" . newspeak-mode))

(provide 'squall-modes)

;;; squall-modes.el ends here
