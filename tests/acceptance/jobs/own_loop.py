# The losses of the paper in a training loop of one's own.
import numpy as np
import torch
from torch import nn

from cst.functional import pseudo_labels, reverse_loss, tsallis_entropy

data = np.load("digits.npz")
source, labels, target, truth = (torch.from_numpy(data[name]) for name in ("source", "labels", "target", "truth"))
torch.manual_seed(0)
features = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU())
head = nn.Linear(128, 10)
optimizer = torch.optim.SGD([*features.parameters(), *head.parameters()], lr=0.05, momentum=0.9)

for step in range(300):
    s, t = torch.randint(len(source), (64,)), torch.randint(len(target), (64,))
    z_source, z_target = features(source[s]), features(target[t])
    logits = head(z_target)
    loss = nn.functional.cross_entropy(head(z_source), labels[s])
    if step > 100:  # first learn the source
        cycle = reverse_loss(z_source, labels[s], z_target, pseudo_labels(logits), 10, l2=0.1, normalize=True)
        loss = loss + 10 * cycle
        loss = loss + 0.1 * tsallis_entropy(logits.softmax(1), alpha=1.9).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

features.eval()
accuracy = (head(features(target)).argmax(1) == truth).float().mean()
print(f"accuracy on the target {100 * accuracy:.1f} %")
