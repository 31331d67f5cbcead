; The two networks of the HyTorch post, in the syntax of Hy 1.
(import torch
        torch [nn Tensor]
        torch.nn.functional :as F)
(require arrows [->])

; A recurrent network over a list of tensors: the post's motivating example.
(defclass TestModel [nn.Module]
  (defn __init__ [self input-dim hidden-dim]
    (.__init__ (super))
    (setv self.hid-init (nn.Parameter (torch.zeros 1 hidden-dim)))
    (setv self.in-to-hid (nn.Linear input-dim hidden-dim))
    (setv self.hid-to-hid (nn.Linear hidden-dim hidden-dim)))
  (defn #^ Tensor forward [self #^ (get list Tensor) inputs]
    (setv hid (.repeat self.hid-init (get (. (get inputs 0) shape) 0) 1))
    (for [x inputs]
      (setv hid (torch.sigmoid (+ (self.hid-to-hid hid) (self.in-to-hid x)))))
    hid))

; The network of PyTorch's MNIST example.
(defclass Net [nn.Module]
  (defn __init__ [self]
    (.__init__ (super))
    (setv self.conv1 (nn.Conv2d 1 32 3 1))
    (setv self.conv2 (nn.Conv2d 32 64 3 1))
    (setv self.dropout1 (nn.Dropout 0.25))
    (setv self.dropout2 (nn.Dropout 0.5))
    (setv self.fc1 (nn.Linear 9216 128))
    (setv self.fc2 (nn.Linear 128 10)))
  (defn #^ Tensor forward [self #^ Tensor x]
    (-> x
        self.conv1
        F.relu
        self.conv2
        F.relu
        (F.max-pool2d 2)
        self.dropout1
        (torch.flatten 1)
        (self.fc1)
        (F.relu)
        (self.dropout2)
        (self.fc2)
        (F.log-softmax :dim 1))))
