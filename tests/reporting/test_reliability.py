"""The reliability diagram, in the terminal and as a file."""

from __future__ import annotations

from xml.etree import ElementTree

from local_judge.reporting.calibration import WIDTH, bar, reliability_table
from local_judge.reporting.reliability_plot import LEFT, SIDE, TOP, reliability_diagram
from local_judge.stats.calibration.reliability import bins
from local_judge.stats.calibration.separation import Judged

CLAIMS = [Judged(true, p, "a") for p, true in ((0.12, False), (0.18, True), (0.9, True), (1.0, True))]
SVG = "{http://www.w3.org/2000/svg}"


def test_a_bar_is_as_long_as_the_share_and_marks_the_mean() -> None:
    # Half of 30 places, and the mean at 0.15 x 30 = 4.5: place 4
    assert bar(0.5, 0.15) == "████│" + "█" * 10 + "·" * 15
    assert bar(0.0, 1.0) == "·" * (WIDTH - 1) + "│"


def test_every_bin_has_its_line() -> None:
    table = reliability_table("reliability", bins(CLAIMS))
    assert table.row_count == 10
    cells = [list(column.cells) for column in table.columns]
    assert cells[1] == ["0", "2", "0", "0", "0", "0", "0", "0", "0", "2"]
    assert (cells[2][1], cells[3][1], cells[4][1]) == ("0.150", "0.500", "0.09–0.91")


def test_a_file_stands_alone_and_shows_each_bin_at_its_place() -> None:
    text = reliability_diagram("a <judge>", [("before & after", bins(CLAIMS))])
    assert text == reliability_diagram("a <judge>", [("before & after", bins(CLAIMS))])
    tree = ElementTree.fromstring(text)
    low, high = tree.iter(f"{SVG}circle")
    # Mean 0.15 across, half of them true up.
    assert (low.get("cx"), low.get("cy")) == (f"{LEFT + 0.15 * SIDE:.2f}", f"{TOP + 0.5 * SIDE:.2f}")
    assert (high.get("cx"), high.get("cy")) == (f"{LEFT + 0.95 * SIDE:.2f}", f"{TOP:.2f}")
    assert low.findtext(f"{SVG}title") == "1 of 2 claims are true; mean probability 0.150"
    texts = [element.text for element in tree.iter(f"{SVG}text")]
    assert texts[:2] == ["a <judge>", "before & after"]
    assert not any(word in text for word in ("href", "<script", "<style", "url("))
