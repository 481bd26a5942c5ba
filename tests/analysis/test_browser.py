"""The report in a real browser: headless Chromium, driven by selenium."""

import json
import shutil
from itertools import pairwise

import pytest
from made_up import add_snapshots

from chromium import contrast, scheme, screen
from cst.cli.main import main

pytest_plugins = ["looked_at", "chromium"]


@pytest.fixture(scope="module")
def page(labelled, tmp_path_factory):
    """The page of a run with a verdict and snapshots."""
    folder = tmp_path_factory.mktemp("page")
    run = shutil.copytree(labelled, folder / "run")
    add_snapshots(run)
    result = json.loads((run / "result.json").read_text())
    evidence = {"risk": {"label": "cycle risk", "before": 0.3, "after": 0.1}}
    result["verdict"] = {"word": "adapted", "sentences": ["It helped."], "evidence": evidence, "reliability": "Often."}
    (run / "result.json").write_text(json.dumps(result))
    with pytest.raises(SystemExit) as end:
        main(["report", str(run)])
    assert end.value.code == 0
    return (run / "report.html").as_uri()


@pytest.fixture
def opened(browser, page):
    browser.get("about:blank")
    browser.get_log("browser")
    screen(browser, 1200)
    scheme(browser, "light")
    browser.get(page)
    return browser


def shown(browser):
    return browser.execute_script("return document.querySelectorAll('#examples > li:not([hidden])').length")


def status(browser):
    return browser.find_element("id", "shown").text


def test_it_opens_without_a_word_in_the_console(opened):
    assert opened.title.endswith("cst report")
    assert "Adapted" in opened.find_element("css selector", ".verdict").text
    assert opened.get_log("browser") == []


def test_the_figures_are_there(opened):
    widths = opened.execute_script("return [...document.images].map(i => i.complete ? i.naturalWidth : 0)")
    assert len(widths) >= 7
    assert min(widths) > 50


def test_filters_change_what_is_shown(opened):
    everything = shown(opened)
    assert everything > 6
    assert status(opened) == f"{everything} of {everything} examples shown."
    select = opened.find_element("name", "class")
    select.find_elements("tag name", "option")[1].click()
    of_class = shown(opened)
    assert 0 < of_class < everything
    opened.find_element("css selector", "input[name=certainty][value=least]").click()
    assert 0 < shown(opened) < of_class
    assert status(opened) == f"{shown(opened)} of {everything} examples shown."
    opened.find_element("css selector", "#filters button[type=reset]").click()
    opened.execute_async_script("setTimeout(arguments[0], 50)")
    assert shown(opened) == everything


def test_filters_work_with_the_keyboard_alone(opened):
    from selenium.webdriver.common.keys import Keys

    everything = shown(opened)
    opened.find_element("name", "class").send_keys(Keys.TAB)
    assert opened.switch_to.active_element.get_attribute("name") == "certainty"
    opened.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert 0 < shown(opened) < everything
    outline = opened.execute_script("return getComputedStyle(document.activeElement.nextSibling).outlineStyle")
    assert outline == "solid"


def test_the_first_tab_skips_to_the_content(opened):
    from selenium.webdriver.common.keys import Keys

    opened.find_element("tag name", "body").send_keys(Keys.TAB)
    assert opened.switch_to.active_element.text == "Skip to the content"
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.switch_to.active_element.get_attribute("id") == "main"


@pytest.mark.parametrize("width", [360, 800])
def test_nothing_is_wider_than_the_screen(opened, width):
    screen(opened, width)
    opened.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    inner, scroll = opened.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert scroll <= inner == width


def test_light_and_dark_differ_and_can_be_read(opened):
    looks = {}
    for name in ("light", "dark"):
        scheme(opened, name)
        opened.execute_async_script("setTimeout(arguments[0], 100)")
        script = """
            const parse = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
            const style = getComputedStyle(document.querySelector('section'));
            const picture = document.querySelector('figure img').currentSrc;
            return [parse(style.color), parse(style.backgroundColor), picture.slice(-3000)];
        """
        looks[name] = opened.execute_script(script)
    for ink, ground, _ in looks.values():
        assert contrast(ink, ground) > 7
    assert sum(looks["dark"][1]) < 150 < 600 < sum(looks["light"][1])
    assert looks["light"][2] != looks["dark"][2]  # the figures are drawn for both


def test_every_control_has_a_name(opened):
    unnamed = opened.execute_script("""
        return [...document.querySelectorAll('select, input, button, a')].filter(
            e => !(e.textContent.trim() || e.labels?.[0]?.textContent.trim())).length
    """)
    assert unnamed == 0
    levels = opened.execute_script("return [...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
