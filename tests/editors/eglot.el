;;; eglot.el --- A session of Emacs with the language server -*- lexical-binding: t; -*-

;; By the configuration in editors/README.md.  `cargo xtask editors' runs it:
;;
;;     SQUALL=FILE emacs --batch -l squall-modes.el -l eglot.el
;;
;; Prints `passed', or what was wrong, and ends with an exit code.

(package-initialize)
(require 'eglot)
(require 'cl-lib)

;; The configuration in the page for users, with the command to test.
(with-temp-buffer
  (insert-file-contents (expand-file-name "../../editors/README.md" (file-name-directory load-file-name)))
  (search-forward "```elisp\n")
  (let ((code (read (current-buffer))))
    (eval (car (read-from-string (string-replace "\"squall\" \"lsp\""
                                                 (format "%S \"lsp\"" (or (getenv "SQUALL") "squall"))
                                                 (prin1-to-string code))))
          t)))

(defun session-wait (what test)
  "Wait until TEST answers something; WHAT is missing otherwise."
  (let ((end (+ (float-time) 20)))
    (while (not (funcall test))
      (when (> (float-time) end) (error "%s" what))
      (accept-process-output nil 0.05))))

(let* ((folder (make-temp-file "squall" t))
       (file (expand-file-name "a.ns" folder))
       (eglot-sync-connect 20)
       (eglot-autoshutdown t))
  (write-region "class A = ()(
  (* The answer. *)
  public answer = ( ^ 42 )
  public twice = ( ^ self answer+self answer )
)
" nil file)
  (find-file file)
  (cl-assert (eq major-mode 'newspeak-mode))
  (call-interactively #'eglot)
  (session-wait "it does not connect" #'eglot-current-server)
  (goto-char (point-min))
  (search-forward "self ans")
  (let ((answer (jsonrpc-request (eglot-current-server) :textDocument/hover
                                 (eglot--TextDocumentPositionParams))))
    (cl-assert (string-match-p "The answer" (format "%S" answer))))
  (xref-find-definitions "answer")
  (cl-assert (= (line-number-at-pos) 3))
  (eglot-format-buffer)
  (cl-assert (string-match-p "answer \\+ self" (buffer-string)))
  (goto-char (point-min))
  (search-forward "42")
  (insert " )")
  (eglot--signal-textDocument/didChange)
  (session-wait "a mistake is not shown" (lambda () (flymake-start) (flymake-diagnostics)))
  (set-buffer-modified-p nil)
  (eglot-shutdown (eglot-current-server))
  (message "passed"))
;;; eglot.el ends here
