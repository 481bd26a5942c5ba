"""The page of a served model in a real browser."""

import httpx
import pytest
from served import CLASSES, serving

import cst as package
from chromium import contrast, scheme, screen

pytest_plugins = ["served", "chromium"]


@pytest.fixture(scope="module")
def addresses(image_run, text_run, table_run):
    places = {"images": image_run, "texts": text_run, "rows": table_run}
    with (
        serving(package.load(places["images"] / "run")) as images,
        serving(package.load(places["texts"] / "run")) as texts,
        serving(package.load(places["rows"] / "run")) as rows,
    ):
        yield {"images": images, "texts": texts, "rows": rows}


@pytest.fixture
def opened(browser, addresses):
    def open(name):
        browser.get("about:blank")
        browser.get_log("browser")
        screen(browser, 1200)
        scheme(browser, "light")
        browser.get(addresses[name])
        return browser

    return open


def answered(browser):
    """The results, once they are there."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 30).until(lambda b: b.find_elements("css selector", ".result"))
    return browser.find_elements("css selector", ".result")


def status(browser):
    from selenium.webdriver.support.ui import WebDriverWait

    box = browser.find_element("id", "status")
    WebDriverWait(browser, 30).until(lambda b: box.text not in ("", "Asking ...", "Nothing has been asked yet."))
    return box.text


def test_dropped_pictures_are_classified(opened, addresses, image_run, tmp_path):
    pictures = [tmp_path / "<i>first<i>.png", tmp_path / "second.png"]
    for picture, original in zip(pictures, sorted((image_run / "scans").iterdir()), strict=False):
        picture.write_bytes(original.read_bytes())
    browser = opened("images")
    browser.find_element("id", "files").send_keys("\n".join(map(str, pictures)))
    first, second = answered(browser)
    form = [("files", (picture.name, picture.read_bytes(), "image/png")) for picture in pictures]
    expected = httpx.post(f"{addresses['images']}/predict", files=form).json()["predictions"]
    for result, one in zip((first, second), expected, strict=True):
        assert result.find_element("tag name", "h3").text == one["prediction"]
        shares = [share.text for share in result.find_elements("css selector", ".share")]
        assert shares == [f"{100 * share:.1f} %" for share in sorted(one["probabilities"], reverse=True)]
    assert first.find_element("css selector", ".of").text == "<i>first<i>.png"  # as text, not as markup
    assert browser.execute_script("return document.querySelector('.result img').naturalWidth") == 36
    track, bar = browser.execute_script(
        "return [...document.querySelectorAll('.track, .track div')].slice(0, 2).map(e => e.clientWidth)"
    )
    assert bar / track == pytest.approx(expected[0]["probability"], abs=0.02)
    assert status(browser) == "2 predictions."
    assert browser.get_log("browser") == []  # nothing was refused by the policy of the page
    names = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert all(name.startswith((addresses["images"], "blob:")) for name in names)


def test_what_is_no_picture_is_said(opened, tmp_path):
    (tmp_path / "notes.png").write_text("no picture")
    browser = opened("images")
    browser.find_element("id", "files").send_keys(str(tmp_path / "notes.png"))
    assert status(browser) == "Picture 1 is not a picture of a known format."
    assert "bad" in browser.find_element("id", "status").get_attribute("class")
    (tmp_path / "large.png").write_bytes(bytes(400_000))
    browser.find_element("id", "files").send_keys(str(tmp_path / "large.png"))
    assert status(browser) == "Together they have 0.4 MB: send fewer."


def test_a_text_is_typed_and_classified_with_the_keyboard_alone(opened):
    from selenium.webdriver.common.keys import Keys

    browser = opened("texts")
    browser.find_element("tag name", "body").send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    browser.switch_to.active_element.send_keys(Keys.TAB)
    area = browser.switch_to.active_element
    assert area.get_attribute("id") == "text"
    area.send_keys("The pan is <b>great</b>", Keys.CONTROL + Keys.ENTER)
    (result,) = answered(browser)
    title = result.find_element("tag name", "h3").text
    assert title in ("good", "bad")
    assert status(browser).startswith(f"{title}, ")
    area.clear()
    area.send_keys(Keys.TAB)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.switch_to.active_element.text == "Classify"
    browser.execute_async_script("setTimeout(arguments[0], 300)")
    assert status(browser) == "Text 1 is empty."


def test_columns_are_filled_in_and_labels_are_escaped(opened):
    browser = opened("rows")
    browser.find_element("css selector", "[data-column=length]").send_keys("-2")
    select = browser.find_element("css selector", "[data-column=colour]")
    assert [option.text for option in select.find_elements("tag name", "option")] == ["not known", "blue", "red"]
    select.send_keys("red")
    browser.find_element("css selector", "form > button").click()
    (result,) = answered(browser)
    names = [item.text.split("\n")[0] for item in result.find_elements("tag name", "li")]
    assert sorted(names) == sorted(CLASSES)
    assert not browser.find_elements("css selector", "#results b, main b")
    browser.find_element("css selector", "[data-column=length]").send_keys("x")
    browser.find_element("css selector", "form > button").click()
    browser.execute_async_script("setTimeout(arguments[0], 300)")
    assert "column 'length' holds '-2x', which is no number" in status(browser)


@pytest.mark.parametrize("name", ["images", "texts", "rows"])
def test_it_fits_a_phone_in_light_and_dark_and_every_control_has_a_name(opened, name):
    browser = opened(name)
    screen(browser, 360)
    inner, scroll = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert scroll <= inner == 360
    for colours in ("light", "dark"):
        scheme(browser, colours)
        pairs = browser.execute_script("""
            const parse = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
            return ['section', 'form > button, .drop'].map(s => getComputedStyle(document.querySelector(s)))
                .map(style => [parse(style.color), parse(style.backgroundColor)]);
        """)
        assert all(contrast(*pair) > 4.5 for pair in pairs)
    unnamed = browser.execute_script("""
        return [...document.querySelectorAll('select, input, textarea, button, a')].filter(
            e => !(e.textContent.trim() || e.labels?.[0]?.textContent.trim())).length
    """)
    assert unnamed == 0
    assert browser.get_log("browser") == []
