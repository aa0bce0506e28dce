;;; classify.el --- Classifies places of texts by the mode for Newspeak -*- lexical-binding: t; -*-

;; `syntax.py' runs it: emacs --batch -l squall-modes.el -l classify.el FILE-WITH-PLACES.  The file has a JSON list of
;; files and places; prints a list of words for each file.

(require 'json)

(defun classify-places (file places)
  "Answer what is at PLACES, lines and columns from 1, of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (newspeak-mode)
    (syntax-propertize (point-max))
    (mapcar
     (lambda (place)
       (goto-char (point-min))
       (forward-line (1- (aref place 0)))
       (forward-char (1- (aref place 1)))
       ;; Behind what begins a comment or a string.
       (forward-char (if (looking-at "(\\*\\|#'") 2 1))
       (let ((state (syntax-ppss)))
         (cond ((nth 4 state) "comment") ((nth 3 state) "string") (t "code"))))
     places)))

(let* ((json-array-type 'vector)
       (files (json-read-file (pop command-line-args-left))))
  (princ (json-encode (mapcar (lambda (entry)
                                (vconcat (classify-places (alist-get 'file entry)
                                                          (append (alist-get 'places entry) nil))))
                              files))))
;;; classify.el ends here
