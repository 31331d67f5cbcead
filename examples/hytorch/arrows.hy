; The threading macro that the post uses. Hy itself no longer has it; the package hyrule does.
(defmacro -> [head #* forms]
  "Pass `head` through the forms, each time as the first argument."
  (setv result head)
  (for [form forms]
    (setv result
      (if (and (isinstance form hy.models.Expression) (!= (get form 0) '.))
        `(~(get form 0) ~result ~@(cut form 1 None))
        `(~form ~result))))
  result)
