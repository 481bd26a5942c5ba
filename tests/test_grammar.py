import pytest

from cst.config import Config
from cst.grammar import adjusted, make, parse_method
from cst.methods import CATALOGUE, MIXING, RAMPED
from cst.terms import TERMS


def names(text):
    return [part.name for part in parse_method(text).terms]


def test_the_papers_methods_are_the_papers_sums():
    assert parse_method("cst").formula == "source + cycle + tsallis"
    assert parse_method("cycle").formula == "source + cycle"
    assert parse_method("cst+entropy").formula == "source + cycle + tsallis(alpha=1.0)"
    assert parse_method("cst+sam").formula == "source + cycle + tsallis, updated by sam"
    assert parse_method("source-only").formula == "source"


def test_published_recipe():
    method = parse_method("cst-official")
    parts = {part.name: part for part in method.terms}
    assert parts["fixmatch"].options["threshold"] == 0.97
    assert parts["fixmatch"].weight == 0.5
    assert parts["confusion"].options["alpha"] == 1.9
    assert parts["cycle"].options == {"l2": 1e-3, "normalize": True, "centred": True}
    assert method.update.name == "sam"
    assert method.update.options["adaptive"] is True


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_method_can_be_made(name):
    method = parse_method(name)
    assert all(make(part).views for part in method.terms)


def test_any_sum_parses():
    assert names("cycle+tsallis") == ["source", "cycle", "tsallis"]
    assert names("source+cycle+tsallis") == ["source", "cycle", "tsallis"]
    assert names("cst+fixmatch") == ["source", "cycle", "tsallis", "fixmatch"]
    assert parse_method("cycle+sam").update.name == "sam"
    assert parse_method("cst+sam+fixmatch").update.name == "sam"
    assert names(" cycle + tsallis ") == ["source", "cycle", "tsallis"]


def test_options_in_parentheses():
    method = parse_method("cycle(l2=1e-2, normalize=true)+tsallis(alpha=1.5)+sam(rho=0.1)")
    parts = {part.name: part.options for part in (*method.terms, method.update)}
    assert parts["cycle"] == {"l2": 0.01, "normalize": True}
    assert parts["tsallis"] == {"alpha": 1.5}
    assert parts["sam"] == {"rho": 0.1}


def put_in(method, weights, options):
    """Weights and options in text, as the command line has them, put into a method."""
    config = Config(method=method, weight=weights, option=options)
    return adjusted(parse_method(method), config.weight, config.option)


def test_weights_and_options_from_outside():
    method = put_in("cst+sam", ["cycle=2"], ["cycle.l2=0.5", "sam.rho=0.2"])
    parts = {part.name: part for part in method.terms}
    assert parts["cycle"].weight == 2
    assert parts["cycle"].options == {"l2": 0.5}
    assert parts["tsallis"].weight == 1
    assert method.update.options == {"rho": 0.2}
    assert CATALOGUE["cst"].terms[1].weight == 1
    assert adjusted(parse_method("cst+sam"), {"cycle": 2}, {"cycle.l2": 0.5, "sam.rho": 0.2}) == method


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tsalis", "Unknown term 'tsalis': did you mean 'tsallis'\\? Known terms: source, cycle"),
        ("cycle+nonsense", "Unknown term 'nonsense'"),
        ("cycle++tsallis", "not a sum of terms"),
        ("", "not a sum of terms"),
        ("tsallis(alpha=1.5", "not a sum of terms"),
        ("tsallis(alpha)", "write NAME=VALUE"),
    ],
)
def test_mistakes_get_one_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        parse_method(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("weights", "options", "sentence"),
    [
        (["cicle=2"], [], "did you mean 'cycle'"),
        (["cycle=much"], [], "cycle must have a number of at least 0"),
        (["cycle=.nan"], [], "cycle must have a number of at least 0"),
        (["cycle=["], [], "plain value"),
        ([], ["cycle=2"], "term.option=value"),
        ([], ["vat.eps=2"], "Unknown term 'vat'"),
    ],
)
def test_wrong_adjustments(weights, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        put_in("cst", weights, options)


def test_unknown_option_of_a_term():
    with pytest.raises(ValueError, match="cycle: Unknown option 'l3': did you mean 'l2'"):
        make(parse_method("cycle(l3=1)").terms[1])


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("mcd+fixmatch", "source + mcd + fixmatch, updated by alternating"),
        ("afn(step=2)+cycle", "source + 0.05 afn(step=2) + cycle"),
        ("mean-teacher(decay=0.9)", "source + 3 mean-teacher(decay=0.9)"),
        ("sentry(committee=5)", "source + sentry(committee=5), sampled by balanced"),
        ("ia+mdd", "source + mdd(present=true), sampled by ia"),
        ("mdd(margin=3)+ia", "source + mdd(present=true, margin=3), sampled by ia"),
        ("kld+dann", "source + kld + dann"),
    ],
)
def test_a_method_keeps_what_makes_it_work_in_a_sum(text, formula):
    assert parse_method(text).formula == formula


@pytest.mark.parametrize("text", ["mcd+sam", "cst+sam+mcd", "mdd+ia+sentry"])
def test_two_rules_at_once_are_refused(text):
    with pytest.raises(ValueError, match="at once: leave one of them out"):
        parse_method(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cycle(l2=abc)", "cycle: l2 must be a number, got 'abc'"),
        ("cycle(normalize=maybe)", "normalize must be true or false"),
        ("tsallis(alpha=-1)", "alpha must be positive"),
        ("tsallis(samples=1.5)", "samples must be a whole number"),
        ("mixmatch(ramp=0)", "must be positive"),
        ("cycle(l2=-1)", "l2 must be positive"),
        ("cycle(l2=.nan)", "l2 must be a number"),
        ("cst(alpha=1)", "takes no options of its own"),
    ],
)
def test_options_are_checked(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        [make(part) for part in parse_method(text).terms]


def test_the_catalogue_knows_which_terms_average_inputs():
    mixing = {name for name in TERMS if make(parse_method(name).terms[-1]).mixes}
    assert mixing == set(MIXING)


def test_ramped_terms_are_listed():
    assert [name for name in TERMS if make(parse_method(name).terms[-1]).ramped] == list(RAMPED)
    assert parse_method("cst").data == "any"
    assert parse_method("cst+mixmatch").data == "images, vectors"
