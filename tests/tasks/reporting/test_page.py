"""The page in a browser: from disk, without a network, at the sizes of a phone and of a desk."""

import pytest

from tests.tasks.reporting.browser import CHROMIUM, Page, browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("report"),
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt install chromium)"),
]
TEXTS = "[...document.querySelectorAll('#table-ranking tbody tr')].map(row => row.cells[{}].innerText.split('\\n')[0])"


@pytest.fixture(scope="module")
def page(written) -> Page:
    with browser() as tab:
        tab.size(1440)
        tab.open((written.folder / "index.html").as_uri())
        yield tab


def test_it_opens_from_disk_without_a_request_or_a_complaint(page, written) -> None:
    own = (written.folder / "index.html").as_uri()
    assert {address for address in page.requests if not address.startswith("data:")} == {own}
    assert page.complaints == []
    assert page.run("document.title") == "five methods"


def test_tables_sort_by_number_and_by_name(page) -> None:
    head = "[...document.querySelectorAll('#table-ranking thead th')].find(h => h.textContent.startsWith('{}')).click()"
    page.run(head.format("WG"))
    once = [float(text) for text in page.run(TEXTS.format(4))]
    page.run(head.format("WG"))
    twice = [float(text) for text in page.run(TEXTS.format(4))]
    assert {tuple(once), tuple(twice)} == {tuple(sorted(once)), tuple(sorted(once, reverse=True))}
    page.run(head.format("Method"))
    assert page.run(TEXTS.format(3)) == sorted(page.run(TEXTS.format(3)))


def test_tables_filter(page) -> None:
    write = (
        "(() => {{ const box = document.querySelector('#about-ranking input'); box.value = '{}';"
        "box.dispatchEvent(new Event('input', {{bubbles: true}})); box.dispatchEvent(new KeyboardEvent('keyup')); }})()"
    )
    page.run(write.format("dat_star"))
    page.run("new Promise(done => setTimeout(done, 500))")
    assert page.run(TEXTS.format(3)) == ["dat_star"]
    page.run(write.format(""))
    page.run("new Promise(done => setTimeout(done, 500))")
    assert len(page.run(TEXTS.format(3))) == 5


def test_every_figure_and_image_has_a_text_alternative(page, written) -> None:
    labels = page.run("[...document.querySelectorAll('figure svg')].map(f => f.getAttribute('aria-label') || '')")
    assert len(labels) == len(written.report.figures) > 2
    assert all(len(label) > 40 for label in labels)
    assert page.run("[...document.images].every(image => image.alt.length > 0)")
    assert page.run(
        "[...document.querySelectorAll('input, button')].every(e => e.labels?.length || e.textContent.trim())"
    )


def test_no_two_elements_share_an_id(page) -> None:
    ids = page.run("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_it_is_usable_at_both_sizes_and_in_both_themes(page, width: int, theme: str) -> None:
    page.size(width)
    page.theme(theme)
    assert page.run("document.documentElement.scrollWidth") <= width, "the page itself does not scroll sideways"
    wide = (
        "[...document.querySelectorAll('main p, main h2, main h3, .headline li, .tiles div, figure')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))"
    )
    assert page.run(wide) == []
    colours = "(e => [getComputedStyle(e).color, getComputedStyle(document.body).backgroundColor])"
    for place in ("document.body", "document.querySelector('.caption')", "document.querySelector('figure svg text')"):
        ink, paper = page.run(f"{colours}({place})")
        assert contrast(ink, paper) >= 4.5, (place, ink, paper)
    smallest = page.run(
        "Math.min(...[...document.querySelectorAll('p, td, li')].map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 11


def test_the_button_changes_the_theme_whatever_the_system_prefers(page) -> None:
    page.theme("light")
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.run(paper)
    page.run("document.getElementById('theme').click()")
    page.run("document.getElementById('theme').click()")
    assert page.run(f"[document.getElementById('theme').textContent, {paper}]") == ["Theme: dark", "rgb(13, 17, 23)"]
    page.run("document.getElementById('theme').click()")
    assert page.run(paper) == before


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
