; Programs of tests.test_hy: each is compiled and compared with plain execution.
(import torch)

(defn steer [xs]
  (setv h (torch.zeros-like (get xs 0)) seen 0)
  (for [x xs]
    (setv h (cond (< (.sum x) 0) (- h x)
                  (> (.sum x) 10) (do (setv seen (+ seen 1)) (* h 0.5))
                  True (+ h x))))
  #(h seen))

(defn power [x n]
  (cond (= n 0) (torch.ones-like x)
        (= (% n 2) 0) (power (* x x) (// n 2))
        True (* x (power x (- n 1)))))

(defmacro defcell [name activation]
  (setv mixed (hy.gensym "mixed"))
  `(defn ~name [x h w]
     (setv ~mixed (+ (@ x w) h))
     (let [gate (torch.sigmoid ~mixed) new (~activation ~mixed)]
       (setv blend (fn [a b] (+ (* gate a) (* (- 1 gate) b))))
       (blend new h))))

(defcell tanh-cell torch.tanh)
(defcell relu-cell torch.relu)

(defn forms [xs n * [scale 2.0]]
  (setv i 0 total 0.0)
  (while (< i n)
    (when (= (% i 3) 1)
      (+= i 1)
      (continue))
    (+= total (* scale i))
    (+= i 1))
  (setv doubled (lfor x xs :if (> (.dim x) 0) (do (setv y (* x 2)) (+ y total))))
  (setv label (if (> total 3) (do (setv u "big") u) "small"))
  (setv best (try (get doubled 7) (except [e IndexError] (get doubled 0))))
  #(doubled label best (and i n) (or 0 n) {"a" total}))

(defn refused [x]
  (setv y (torch.relu x))
  (setv z (eval
            "y + 1"))
  z)

(defn fails [x]
  (setv y (+ x 1))
  (@ y
     (torch.ones 7 7)))
