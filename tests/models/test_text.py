"""Text backbones: padding, pooling, frozen layers, VAT on word vectors."""

import pytest
import torch
from torch import nn

from cst.data.augmentations import TOKENS, drop_tokens
from cst.data.cached import VectorSequences, through_frozen
from cst.data.texts import TokenSamples
from cst.hub import load_tokenizer, place_of
from cst.models.backbones import backbone_parts
from cst.models.frozen import Frozen
from cst.models.model import Model
from cst.models.spec import ModelSpec
from cst.models.text import split, text_parts
from cst.tasks.own import task_in_memory
from cst.terms.contract import Batch, Problem, Step
from cst.terms.vat import VAT, sizes, spread
from cst.tokens import NO_TOKEN, joined, present

TEXTS = ["A fine book", "This is a much longer review of a truly dull film", "Yes"]


@pytest.fixture
def tokens(tiny_bert):
    samples = TokenSamples.of(TEXTS, load_tokenizer(place_of(f"hf:{tiny_bert}")), 8)
    return samples.take(torch.arange(3))


def spec(folder, max_length=128, **fields):
    return ModelSpec("text", ("bad", "good"), {"max_length": max_length}, f"hf:{folder}", **fields)


def built(tiny_bert, weights="pretrained", **fields):
    parts = backbone_parts(spec(tiny_bert, **fields), weights)
    return parts.prepare.eval(), parts.trained.eval()


def test_padding_is_dynamic_and_length_is_limited(tokens):
    assert tokens.shape == (3, 8)
    assert present(tokens).sum(1).tolist() == [5, 8, 3]
    assert (tokens[2, 3:] == NO_TOKEN).all()


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_features_are_what_transformers_gives_for_each_text_alone(tiny_bert, tokens, pooling):
    from transformers import AutoModel

    theirs = AutoModel.from_pretrained(str(tiny_bert)).eval()
    prepare, backbone = built(tiny_bert, pooling=pooling)
    with torch.no_grad():
        found = backbone(prepare(tokens))
        for row, there, feature in zip(tokens, present(tokens), found, strict=True):
            last = theirs(input_ids=row[there][None]).last_hidden_state[0]
            wanted = last.mean(0) if pooling == "mean" else last[0]
            torch.testing.assert_close(feature, wanted, rtol=1e-4, atol=1e-5)


def test_weights_of_a_network_that_was_saved_within_another(tiny_bert, tokens, tmp_path):
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(1)
    classifier = BertForSequenceClassification(BertConfig.from_pretrained(str(tiny_bert))).eval()
    torch.save(classifier.state_dict(), tmp_path / "classifier.pt")
    prepare, backbone = built(tiny_bert, weights=str(tmp_path / "classifier.pt"), pooling="cls")
    with torch.no_grad():
        found = backbone(prepare(tokens))
        alone = classifier.bert(input_ids=tokens[1:2]).last_hidden_state[:, 0]
    torch.testing.assert_close(found[1:2], alone, rtol=1e-4, atol=1e-5)
    without_pooler = {name: value for name, value in classifier.state_dict().items() if "pooler" not in name}
    torch.save(without_pooler, tmp_path / "masked.pt")  # as a model of masked words is saved
    again = built(tiny_bert, weights=str(tmp_path / "masked.pt"), pooling="cls")[1]
    with torch.no_grad():
        assert torch.equal(again(prepare(tokens)), found)


def test_frozen_layers_give_the_same_features(tiny_bert, tokens):
    whole, part = built(tiny_bert), built(tiny_bert, freeze=1)
    assert isinstance(part[0], Frozen)
    with torch.no_grad():
        hidden = part[0](tokens)
        assert hidden.shape == (3, 8, 32)
        assert torch.equal(present(hidden), present(tokens))
        torch.testing.assert_close(part[1](hidden), whole[1](tokens), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="reads at most 512 tokens"):
        built(tiny_bert, max_length=600)
    with pytest.raises(ValueError, match="leaves nothing to train"):
        built(tiny_bert, freeze=2)


def test_word_vectors_are_a_second_way_in(tiny_bert, tokens):
    prepare, backbone = built(tiny_bert)
    model = Model(backbone, nn.Linear(32, 2), prepare=prepare).eval()
    with torch.no_grad():
        vectors = model.continuous(tokens)
        assert vectors.shape == (3, 8, 32)
        torch.testing.assert_close(model.features(vectors), model.features(tokens))


def test_outputs_of_frozen_layers_are_computed_once_and_kept(tiny_bert, tmp_path, monkeypatch):
    task = spec(tiny_bert, 8, freeze=1).encode(task_in_memory((TEXTS, ["a", "b", "a"]), TEXTS[::-1]))
    prepare, backbone = built(tiny_bert, freeze=1)
    first = through_frozen(task, prepare, tmp_path / "cache")
    assert isinstance(first.target, VectorSequences)
    with torch.no_grad():
        places = torch.tensor([2, 0])
        torch.testing.assert_close(
            backbone(first.target.take(places)), backbone(prepare(task.target.take(places))), rtol=1e-4, atol=1e-5
        )
    assert len(list((tmp_path / "cache").glob("*.pt"))) == 2
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    again = through_frozen(task, prepare, tmp_path / "cache")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()} == files
    assert all(torch.equal(a, b) for a, b in zip(first.target.sequences, again.target.sequences, strict=True))
    monkeypatch.setattr("cst.data.cached.MOST", 10)
    assert through_frozen(task, prepare) is task


def test_layers_that_are_more_than_a_row_cannot_be_frozen(tmp_path):
    from transformers import DebertaV2Config, DebertaV2Model, ElectraConfig, ElectraModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    convolved = DebertaV2Model(DebertaV2Config(vocab_size=50, conv_kernel_size=3, **sizes))
    projected = ElectraModel(ElectraConfig(vocab_size=50, embedding_size=16, **sizes))
    for network in (convolved, projected):
        with pytest.raises(ValueError, match="cannot be frozen one by one: leave out freeze="):
            split(network, 1)


def test_positions_that_a_network_keeps_for_itself(tmp_path):
    from transformers import RobertaConfig, RobertaModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    RobertaModel(RobertaConfig(vocab_size=50, max_position_embeddings=34, **sizes)).save_pretrained(str(tmp_path))
    assert text_parts(spec(tmp_path, 32), "pretrained")
    with pytest.raises(ValueError, match="reads at most 32 tokens"):
        text_parts(spec(tmp_path, 33), "pretrained")


def test_frozen_outputs_of_pictures_are_one_tensor(tmp_path):
    torch.manual_seed(0)
    images = torch.rand(70, 3, 8, 8)
    raw = task_in_memory((images, torch.arange(70) % 2), images[:40])
    encoding = {"shape": [3, 8, 8], "bytes_in": False, "columns": [], "raw": False}
    task = ModelSpec("arrays", raw.classes, encoding, "auto").encode(raw)
    frozen = torch.nn.Conv2d(3, 4, 3)
    for folder in (None, tmp_path):
        kept = through_frozen(task, frozen, folder)
        with torch.no_grad():
            torch.testing.assert_close(kept.source.inputs, frozen(images))
        assert len(kept.target) == 40


def test_views_hide_tokens_but_never_the_first(tokens):
    torch.manual_seed(0)
    many = tokens[1:2].expand(500, -1)
    hidden = drop_tokens(many, 0.2)
    assert (hidden[:, 0] == many[:, 0]).all()
    assert 0.15 < (hidden[:, 1:] == NO_TOKEN).float().mean() < 0.25
    assert (TOKENS.mild(many) == NO_TOKEN).sum() < (TOKENS.strong(many) == NO_TOKEN).sum()
    vectors = torch.rand(500, 8, 4)
    assert drop_tokens(vectors, 0.2).isnan().any(-1).float().mean() > 0.1


def test_batches_of_different_length_are_joined(tokens):
    both = joined(tokens[:, :3], tokens)
    assert both.shape == (6, 8)
    assert (both[0, 3:] == NO_TOKEN).all()
    assert joined(torch.rand(2, 3, 4), torch.rand(2, 5, 4))[0, 3:].isnan().all()


def test_vat_moves_word_vectors_by_a_share_of_the_tokens_that_are_there(tiny_bert, tokens):
    prepare, backbone = built(tiny_bert)
    torch.manual_seed(0)
    model = Model(backbone, nn.Linear(32, 2), prepare=prepare).eval()
    batch = Batch(tokens, torch.tensor([0, 1, 0]), tokens, torch.arange(3))

    def vat(**options):
        made = VAT(**options)
        made.setup(Problem(2, 32, 3, model, {"vat": made}))
        return made

    near, far = (float(vat(radius=radius)(Step(model, batch)).detach()) for radius in (0.02, 0.5))
    assert 0 < near < far
    assert sizes(model.continuous(tokens)).flatten().tolist() == [5 * 32, 8 * 32, 3 * 32]
    assert sizes(torch.zeros(2, 3, 4, 4)).flatten().tolist() == [48, 48]
    scale = spread(model.continuous(tokens))
    assert scale.shape == (1, 1, 32)
    assert scale.isfinite().all()
    vat()(Step(model, batch)).backward()
    assert model.backbone.network.get_input_embeddings().weight.grad is not None


def test_normalised_features_take_out_a_shift_between_domains(reviews, tiny_bert, tmp_path):
    import cst

    (texts, labels), (others, _) = reviews
    settings = {"epochs": 1, "steps_per_epoch": 3, "batch_size": 8, "out": tmp_path / "run"}
    adapted = cst.adapt((texts, labels), others, "cst", f"hf:{tiny_bert}", **settings)
    assert adapted.settings.feature_norm
    probs = adapted.predict_proba(others)
    assert (probs == cst.load(tmp_path / "run").predict_proba(others)).all()
    model = adapted.model.train()
    tokens = adapted.spec.encoder.encode(texts).take(torch.arange(40))
    for domain in ("source", "target"):
        found = model.features(tokens, domain).detach()
        torch.testing.assert_close(found.mean(0), torch.zeros(32), atol=1e-5, rtol=0)
        torch.testing.assert_close(found.std(0, correction=0), torch.ones(32), atol=1e-2, rtol=0)


def test_a_backbone_that_does_not_read_text_is_refused():
    with pytest.raises(ValueError, match="does not read text: choose minilm"):
        place_of("cnn")
