"""Study 3, transfer: features learnt from digits, used to tell two kinds of garment apart.

A convolutional network learns MNIST. Without its last layer it turns images into 100 features, on
which the two views are tuned and compared with each other on Fashion-MNIST.
"""

from pessimal.experiments.transfer.cells import study

__all__ = ["study"]
