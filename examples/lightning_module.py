"""A Lightning module, and four lines of cst: two domains in one batch, alpha chosen anew in each epoch."""

import lightning
import torch
from lightning.pytorch.utilities import CombinedLoader
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from cst import TermSum  # 1
from cst.tasks.synthetic_digits import handwritten_digits, rendered_digits


class Digits(lightning.LightningModule):
    """A classifier that learns from labelled digits of one domain and unlabelled ones of another."""

    def __init__(self, learn_source=4):
        super().__init__()
        self.learn_source = learn_source
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.head = nn.Linear(128, 10)
        self.extra = TermSum("cst", num_classes=10, feature_dim=128)  # 2

    def on_train_epoch_start(self):
        if self.current_epoch >= self.learn_source:
            self.extra.start_epoch(self.head)  # 3

    def training_step(self, batch, index):
        (inputs, labels), (others,) = batch["source"], batch["target"]
        z_source, z_target = self.features(inputs), self.features(others)
        loss = nn.functional.cross_entropy(self.head(z_source), labels)
        if self.current_epoch >= self.learn_source:
            loss = loss + self.extra(z_source, labels, z_target, self.head(z_target))  # 4
        return loss

    def test_step(self, batch, index):
        inputs, labels = batch
        right = self.head(self.features(inputs)).argmax(1) == labels
        self.log("accuracy", right.float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


lightning.seed_everything(0)
source, target = rendered_digits(2000), handwritten_digits()
labelled = TensorDataset(*(torch.from_numpy(part) for part in source))
images, truth = (torch.from_numpy(part) for part in target)
loaders = {
    "source": DataLoader(labelled, 64, shuffle=True, drop_last=True),
    "target": DataLoader(TensorDataset(images), 64, shuffle=True, drop_last=True),
}
test = DataLoader(TensorDataset(images, truth), 1797)  # labels of the target judge, and do not teach
module = Digits()
trainer = lightning.Trainer(
    max_epochs=9, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(module, CombinedLoader(loaders, "max_size_cycle"))
(figures,) = trainer.test(module, test, verbose=False)
print(f"accuracy {100 * figures['accuracy']:.1f} %, alpha {module.extra.metrics()['alpha']}")
