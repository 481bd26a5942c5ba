"""A training loop of PyTorch, and four lines of cst: digits in fonts, with labels, to digits written by hand."""

import torch
from torch import nn

from cst.functional import balanced_tsallis_entropy, cycle_loss  # 1
from cst.tasks.synthetic_digits import handwritten_digits, rendered_digits

torch.manual_seed(0)
(source, labels), (target, truth) = rendered_digits(2000), handwritten_digits()
source, labels, target, truth = (torch.from_numpy(part) for part in (source, labels, target, truth))
features = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU())
head = nn.Linear(128, 10)
optimizer = torch.optim.SGD([*features.parameters(), *head.parameters()], lr=0.05, momentum=0.9)


def accuracy():
    features.eval()
    right = head(features(target)).argmax(1) == truth  # labels of the target judge, and do not teach
    features.train()
    return 100 * right.float().mean().item()


for step in range(600):
    s, t = torch.randint(len(source), (64,)), torch.randint(len(target), (64,))
    z_source, z_target = features(source[s]), features(target[t])
    loss = nn.functional.cross_entropy(head(z_source), labels[s])
    if step == 200:
        print(f"source model {accuracy():.1f} %")
    if step >= 200:  # first learn the source
        logits = head(z_target)  # 2
        loss = loss + cycle_loss(z_source, labels[s], z_target, logits)  # 3
        loss = loss + balanced_tsallis_entropy((logits / 2.5).softmax(1), alpha=1.9)  # 4
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"with the cycle {accuracy():.1f} %")
