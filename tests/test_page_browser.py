"""report.html in a real browser, opened from disk with no network: what can be clicked, typed, heard, linked, printed.

Needs the extra `browser` and Chromium (`chromium`, or its path in VOICEBENCH_CHROMIUM).
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import browser, needs_chromium, opened, serious_findings, width_of
from pages import BASELINE, HOSTILE, a_talk, an_item, hostile_run, two_agents
from results import a_run

from pytest_voicebench.page.write import write_page, write_page_with_sound
from pytest_voicebench.saved_run import load_run

__all__ = ["browser"]  # a fixture: pytest finds it by its name here
pytestmark = needs_chromium

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = two_agents(tmp_path_factory.mktemp("page") / "run")
    (folder / "items/travel_03/audio.flac").write_bytes(b"not sound")
    (folder / "items/travel_02/conversation.json").unlink()
    run = load_run(folder)
    return write_page(run, run.summary())


@pytest.fixture
def show(browser: Any, page_file: Path) -> Iterator[Open]:
    """Opens the page of two agents; what it complains of is looked at when the test is over."""
    windows = []

    def show_page(address: str = "", **context: Any) -> Any:
        window = opened(browser, page_file, address, **context)
        windows.append(window)
        return window.__enter__()

    yield show_page
    for window in windows:
        window.__exit__(None, None, None)


def shown_items(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        "#items-table > tbody > tr:not(.detail)",
        "rows => rows.filter(row => !row.hidden).map(row => row.querySelector('a').textContent)",
    )


def until(page: Any, condition: str) -> None:
    """Wait until the condition holds; Playwright's own way needs `eval`, which the page's policy forbids."""
    for _ in range(400):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never came true: {condition}")


def address_of(page: Any) -> str:
    return page.evaluate("location.hash")


ALL = ["travel_01", "travel_02", "travel_03", "travel_19", "travel_01-s", "travel_02-s", "travel_03-s", "travel_19-s"]


def test_the_page_opens_from_disk_with_every_item_and_builds_none_before_it_is_asked(show):
    page = show()
    assert shown_items(page) == [*ALL, "travel_20"]
    assert page.locator("#shown").inner_text() == "9 items"
    assert page.locator("svg.timeline").count() == 0


def test_items_are_found_by_what_was_said_and_called_and_by_their_traits(show):
    page = show()
    page.fill("#find", "rome destination TRAVEL_19")
    assert shown_items(page) == ["travel_19", "travel_19-s"]
    assert page.locator("#shown").inner_text() == "2 of 9 items"
    page.select_option("select[name=agent]", "stale")
    assert shown_items(page) == ["travel_19-s"]
    page.click("#filters button[type=reset]")
    until(page, "document.getElementById('shown').textContent === '9 items'")
    page.select_option("select[name=disfluency]", "self correction")
    assert shown_items(page) == ["travel_19", "travel_19-s"]
    page.select_option("select[name=outcome]", "not run")
    assert shown_items(page) == []


def test_a_column_sorts_both_ways_with_what_was_not_measured_last(show):
    page = show()
    page.click("#items-table thead button:text('Args')")
    assert page.get_attribute("#items-table thead th:has-text('Args')", "aria-sort") == "ascending"
    assert shown_items(page)[0] == "travel_01-s"
    assert shown_items(page)[-1] == "travel_20"
    page.click("#items-table thead button:text('Args')")
    assert shown_items(page)[0] == "travel_01"
    assert shown_items(page)[-1] == "travel_20"


def test_an_opened_item_shows_its_timeline_and_the_argument_that_differs_with_its_cause(show):
    page = show()
    page.click("text=travel_19-s")
    panel = page.locator(".panel")
    assert panel.count() == 1
    drawing = panel.locator("svg.timeline").first.text_content()
    for text in (
        "✗ search_flights #1 (premature)",
        "+ track_order",
        "↩ retraction heard",
        "! interruption",
        "user’s end",
    ):
        assert text in drawing
    told = panel.inner_text()
    assert '"Milan"' in told
    assert "stale: the user said it, then took it back" in told
    assert "no such order" in told
    assert "heard of it: A flight to Rome" in told
    page.click("#items-table a >> text=travel_01-s")
    assert page.locator(".panel").count() == 1


def test_one_request_is_compared_across_agents(show):
    page = show("#item=travel_19")
    told = page.locator(".panel section:has(h4:text('This request, every agent'))")
    assert 'stale\tfailed\t0.67\t0.00 (destination "Rome")\tn/a\tn/a\tn/a\tn/a' in told.locator("table").inner_text()
    told.locator("summary").click()
    assert told.locator("svg.timeline").count() == 2
    told.locator("a:text('stale')").click()
    page.wait_for_selector(".panel h3:has-text('travel_19-s')")


def test_the_recording_plays_and_the_cursor_moves_with_it(show):
    page = show()
    page.click("text=travel_19-s")
    page.keyboard.press("Space")
    until(page, "parseFloat(document.querySelector('.track').getAttribute('aria-valuenow')) > 0.3")
    assert page.locator(".play").inner_text() == "❚❚ Pause"
    page.keyboard.press("Space")
    until(page, "document.querySelector('.play').textContent === '▶ Play'")
    assert "translate" in page.get_attribute("svg.timeline .cursor", "transform")
    assert "&t=" in address_of(page)


def test_sound_inside_the_page_plays_too(browser, tmp_path):
    folder = hostile_run(tmp_path / "run")
    run = load_run(folder)
    file = write_page_with_sound(run, run.summary())
    shutil.rmtree(folder / "items")
    with opened(browser, file, "#item=travel_01") as page:
        page.keyboard.press("Space")
        until(page, "parseFloat(document.querySelector('.track').getAttribute('aria-valuenow')) > 0.3")
        page.click("text=Event log")
        assert f"hello{HOSTILE}" in page.locator(".panel pre").inner_text()


LISTEN = """
    const connect = AudioNode.prototype.connect;
    AudioNode.prototype.connect = function (to, ...places) {
      if (to instanceof AudioDestinationNode) {
        const splitter = this.context.createChannelSplitter(2);
        window.ears = [0, 1].map((place) => {
          const ear = this.context.createAnalyser();
          connect.call(splitter, ear, place);
          return ear;
        });
        connect.call(this, splitter);
      }
      return connect.call(this, to, ...places);
    };
    window.loud = () => window.ears.map((ear) => {
      const samples = new Float32Array(ear.fftSize);
      ear.getFloatTimeDomainData(samples);
      return Math.max(...samples) > 0.1;
    }).join();
"""


def test_one_voice_alone_is_heard_in_both_ears_once_the_folder_is_chosen(browser, page_file):
    with opened(browser, page_file) as page:
        page.add_init_script(LISTEN)
        page.reload()
        page.click("text=travel_01")
        page.keyboard.press("v")
        assert "Choose the run’s folder" in page.locator(".player .notice").inner_text()
        page.set_input_files(".player input[type=file]", page_file.parent)
        until(page, "document.activeElement.matches('.bar select')")
        page.keyboard.press("Tab")
        page.keyboard.press("v")
        page.evaluate("location.hash = '#item=travel_01&t=0.6'")  # the user speaks until 4.2 s
        page.locator(".play").click()
        until(page, "window.loud() === 'true,true'")
        page.keyboard.press("v")
        until(page, "window.loud() === 'false,false'")
        page.keyboard.press("v")
        until(page, "window.loud() === 'true,false'")
        page.evaluate("location.hash = '#item=travel_19'")
        page.wait_for_selector(".panel h3:has-text('travel_19')")
        assert page.locator(".bar label:has-text('Voices')").is_visible()


def test_a_folder_without_the_recording_is_said_to_be_the_wrong_one(show, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "audio.flac").write_bytes(b"")
    page = show("#item=travel_19")
    page.click("text=One voice alone")
    page.set_input_files(".player input[type=file]", tmp_path / "other")
    until(page, "document.querySelector('.player [role=status]').textContent !== ''")
    assert "does not hold this recording" in page.locator(".player .notice").inner_text()


def test_where_the_sound_is_inside_the_page_one_voice_is_a_choice_at_once(browser, tmp_path):
    run = load_run(two_agents(tmp_path / "run"))
    with opened(browser, write_page_with_sound(run, run.summary())) as page:
        page.add_init_script(LISTEN)
        page.reload()
        page.evaluate("location.hash = '#item=travel_01&t=0.6'")
        page.wait_for_selector("svg.timeline")
        page.keyboard.press("v")
        page.locator(".play").click()
        until(page, "window.loud() === 'true,true'")


def test_an_address_leads_to_an_item_and_a_second_even_where_a_filter_hides_it(show):
    page = show("#item=travel_19&t=12.3")
    until(page, "document.querySelector('.track').getAttribute('aria-valuenow') === '12.30'")
    page.fill("#find", "travel_01")
    assert page.locator(".panel").count() == 0
    page.evaluate("location.hash = '#item=travel_19-s&t=3'")
    until(page, "document.querySelector('.track')?.getAttribute('aria-valuenow') === '3.00'")
    page.evaluate("location.hash = '#item=nobody'")
    assert page.locator(".panel h3").inner_text().startswith("travel_19-s")


def test_everything_can_be_done_from_the_keyboard(show):
    page = show()
    page.keyboard.press("/")
    page.keyboard.type("travel_0")
    page.keyboard.press("Escape")
    assert page.input_value("#find") == ""
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    assert address_of(page).startswith("#item=travel_01")
    until(page, "document.activeElement.className === 'track'")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    until(page, "document.querySelector('.track').getAttribute('aria-valuenow') === '1.90'")
    page.keyboard.press("j")
    assert page.locator(".panel h3").inner_text().startswith("travel_02")
    page.keyboard.press("Escape")
    assert page.locator(".panel").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "travel_02"


def test_a_click_on_the_timeline_and_on_a_moment_moves_the_position(show):
    page = show("#item=travel_19")
    box = page.locator("svg.timeline").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 30)
    until(page, "Math.abs(parseFloat(document.querySelector('.track').ariaValueNow) - 7.7) < 0.5")
    page.click(".moments button:has-text('end of the user')")
    until(page, "document.querySelector('.track').ariaValueNow === '7.50'")
    page.select_option(".bar select", "4")
    assert page.locator("svg.timeline").bounding_box()["width"] > 3 * box["width"]


def test_missing_evidence_is_said_where_it_is_missing(show):
    page = show("#item=travel_03")
    assert "Missing evidence: items/travel_03/audio.flac: not a sound file" in page.locator(".panel").inner_text()
    assert page.locator(".play").is_disabled()
    page.evaluate("location.hash = '#item=travel_02'")
    page.wait_for_selector(".panel h3:has-text('travel_02')")
    assert "items/travel_02/conversation.json: No such file" in page.locator(".panel").inner_text()
    assert page.locator(".panel svg.timeline").count() == 0


def test_nothing_that_agents_or_scenarios_say_is_executed(browser, tmp_path):
    run = load_run(hostile_run(tmp_path / "run"))
    with opened(browser, write_page(run, run.summary())) as page:
        page.fill("#find", "img")
        for link in page.locator("#items-table > tbody > tr > th > a").all():
            link.click()
            for folded in page.locator(".panel details > summary").all():
                folded.click()
        assert page.evaluate("window.pwned") is None
        assert page.locator("img").count() == 0
        page.evaluate("location.hash = '#item=travel_01'")
        page.wait_for_selector("svg.timeline")
        assert HOSTILE in page.locator(".panel").inner_text()
        assert page.evaluate("window.pwned") is None


def test_no_other_script_can_run_in_the_page(browser, page_file):
    window = browser.new_context(offline=True)
    page = window.new_page()
    page.goto(page_file.as_uri())
    page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.pwned = 1'; document.body.append(s);"
        "document.body.insertAdjacentHTML('beforeend', '<b onclick=\"window.pwned = 2\" id=trap>x</b>');"
        "document.getElementById('trap').click()"
    )
    assert page.evaluate("window.pwned") is None
    window.close()


def test_without_scripts_tables_plots_and_items_are_there(show):
    page = show(java_script_enabled=False)
    text = page.locator("main").inner_text()
    assert "Table 2. Overall" in text
    assert "wrong: search_flights.destination" in text
    assert page.locator("figure svg").first.is_visible()
    assert not page.locator("#filters").is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1360), ("dark", 1360), ("light", 360)])
def test_axe_finds_nothing_serious(show, scheme, width):
    page = show("#item=travel_19-s", color_scheme=scheme, viewport={"width": width, "height": 900})
    page.click("text=One voice alone")  # with what it asks
    assert serious_findings(page) == []


@pytest.mark.parametrize("width", [360, 640, 1024, 1400, 1920])
def test_nothing_is_wider_than_the_window(show, width):
    page = show("#item=travel_19-s", viewport={"width": width, "height": 800})
    page.wait_for_selector("svg.timeline")
    assert width_of(page) <= width


def test_light_and_dark_can_be_changed_by_hand(show):
    page = show(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    assert page.locator("#theme").inner_text() == "Dark"


def test_the_page_prints_with_the_opened_item_and_without_its_controls(show):
    page = show("#item=travel_19-s", color_scheme="dark")
    page.wait_for_selector("svg.timeline")
    assert len(page.pdf(format="A4")) > 10_000
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".panel").is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator("nav").is_visible()


def test_items_are_gathered_by_why_they_failed(show):
    page = show()
    reasons = page.locator("select[name=reason] option").all_inner_texts()
    assert any(reason.startswith("stale (") for reason in reasons)
    page.select_option("select[name=reason]", "stale")
    assert shown_items(page) == ["travel_01-s", "travel_02-s", "travel_03-s", "travel_19-s"]
    assert (
        'destination "Rome" instead of "Milan": stale' in page.locator("tr:has(a:text-is('travel_19-s'))").inner_text()
    )


def test_the_rows_that_are_shown_are_saved_for_a_spreadsheet_and_no_cell_is_a_formula(show):
    page = show()
    page.fill("#find", "travel_19")
    page.evaluate("document.querySelector('#items-table tbody tr:not([hidden]) td').textContent = '=1+1'")
    with page.expect_download() as saved:
        page.click("#save")
    rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8-sig"))))
    assert [len(row) for row in rows] == [12, 12, 12]
    assert rows[0][:3] == ["Item", "Agent", "Outcome"]
    assert rows[1][1] == "'=1+1"


def test_an_opened_item_leads_to_its_neighbours_in_the_list_and_to_its_files(show):
    page = show("#item=travel_19")
    assert page.locator(".steps .note").inner_text() == "4 of 9"
    links = page.locator(".panel ul.files a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert "./items/travel_19/conversation.json" in links
    page.click(".steps button:text('Next')")
    page.wait_for_selector(".panel h3:has-text('travel_01-s')")


def test_the_place_of_an_opened_item_follows_the_filter_and_the_order(show):
    page = show("#item=travel_19")
    told = page.locator(".steps .note")
    page.fill("#find", "travel_19")
    assert told.inner_text() == "1 of 2"
    assert page.locator(".steps button:text('Previous')").is_disabled()
    page.click(".steps button:text('Next')")
    page.wait_for_selector(".panel h3:has-text('travel_19-s')")
    assert page.locator(".steps button:text('Next')").is_disabled()
    page.focus("#find")
    page.keyboard.press("Escape")
    assert told.inner_text() == "8 of 9"
    page.click("#items-table thead button:text('Args')")
    assert told.inner_text() == "4 of 9"
    page.fill("#find", "travel_01")
    assert page.locator(".panel").count() == 0


@pytest.mark.parametrize("width", [360, 768, 1360])
def test_an_opened_row_stands_below_the_header_with_its_name_and_reason_in_sight(show, width):
    page = show("#item=travel_19-s", viewport={"width": width, "height": 900})
    page.wait_for_selector("svg.timeline")
    header, row = (page.locator(name).bounding_box() for name in (".top", "tr.opened"))
    assert row["y"] >= header["y"] + header["height"]
    assert row["height"] < 250
    title = page.locator(".panel h3")
    assert title.locator("i").evaluate("title => getComputedStyle(title).display") == "inline"


def test_on_a_telephone_the_verdict_of_a_comparison_is_in_sight(browser, tmp_path):
    run = load_run(two_agents(tmp_path / "run"))
    file = write_page(run, replace(run.summary(), baseline=BASELINE))
    with opened(browser, file, viewport={"width": 360, "height": 800}) as page:
        cell = page.locator("table.figures td:text('✗ regressed')").bounding_box()
        assert cell["x"] + cell["width"] <= 360


def test_at_the_width_of_a_laptop_the_filters_of_one_agent_stand_in_one_line(browser, tmp_path):
    folder = tmp_path / "run"
    results = [
        an_item(folder, name, a_talk("Rome" if name[-1] == "9" else "Milan")) for name in ("travel_01", "travel_19")
    ]
    with opened(browser, write_page(load_run(a_run(folder, *results)), load_run(folder).summary())) as page:
        tops = page.locator("#filters > *").evaluate_all("all => all.map(one => one.getBoundingClientRect().bottom)")
        assert max(tops) - min(tops) < 3
        assert page.locator("#save").bounding_box()["y"] == pytest.approx(
            page.locator("#shown").bounding_box()["y"], abs=8
        )
