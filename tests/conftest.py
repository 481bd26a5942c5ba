import numpy as np
import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture
def shifted_blobs():
    """Three classes in five dimensions; the target is rotated and moved. (source, labels, target, target labels)"""
    random = np.random.default_rng(0)
    centres = 3 * random.normal(size=(3, 5))
    labels_s, labels_t = random.integers(3, size=160), random.integers(3, size=120)
    source = centres[labels_s] + random.normal(size=(160, 5))
    target = centres[labels_t] + random.normal(size=(120, 5)) + 0.7
    return source.astype(np.float32), labels_s, target.astype(np.float32), labels_t
