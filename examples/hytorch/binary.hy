; A binarized network in Hy: weights and activations are -1 or 1, and gradients pass straight through the sign.
(import torch
        torch [nn Tensor]
        torch.nn.functional :as F)
(require arrows [->])

(defclass StraightThroughSign [torch.autograd.Function]
  "-1 or 1, with the gradient of the identity between -1 and 1."
  (defn [staticmethod] forward [ctx x]
    (.save-for-backward ctx x)
    (torch.where (>= x 0) 1.0 -1.0))
  (defn [staticmethod] backward [ctx grad]
    (setv [x] ctx.saved-tensors)
    (* grad (<= (.abs x) 1))))

(defclass BinaryLinear [nn.Linear]
  "A linear of signs, without bias."
  (defn __init__ [self inputs outputs]
    (.__init__ (super) inputs outputs :bias False))
  (defn forward [self x]
    (F.linear (StraightThroughSign.apply x) (StraightThroughSign.apply self.weight))))

(defclass BinaryNet [nn.Module]
  "Classifies images [N, 64] with pixels 0 to 16."
  (defn __init__ [self]
    (.__init__ (super))
    (setv self.first (BinaryLinear 512 512))
    (setv self.second (BinaryLinear 512 512))
    (setv self.last (BinaryLinear 512 10))
    (setv self.norm1 (nn.BatchNorm1d 512))
    (setv self.norm2 (nn.BatchNorm1d 512))
    (setv self.norm3 (nn.BatchNorm1d 10)))
  (defn #^ Tensor forward [self #^ Tensor x]
    ; each pixel becomes eight signs: whether it is above 1, 3, 5 and so on
    (setv levels (+ (* 2 (.view (torch.arange 8) 8 1)) 1))
    (-> (torch.where (> (.view x -1 1 64) levels) 1.0 -1.0)
        (torch.flatten 1)
        self.first
        self.norm1
        self.second
        self.norm2
        self.last
        self.norm3))
  (defn classify [self x]
    (.argmax (self x) 1)))
