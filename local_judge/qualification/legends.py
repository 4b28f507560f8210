"""What the columns of a part's table mean, for a reader who has the page alone.

Invariant: every part has a legend, and every measure that its table can show is named in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from local_judge.qualification.model import PartName

LEGENDS: Mapping[PartName, str] = {
    "verification": (
        "Does the page state the claim? `raw`: P(yes) of the method `scored`, a yes from 0.5 on; "
        "`calibrated`: the same answers, each by a fit and a threshold of other pages; "
        "`near`: the same where the judge is shown what is near to a claim; `grouped`: labels. "
        "`caught`: altered claims that are not called true; `called wrong`: true ones that are not; `f1`: of "
        "finding altered ones; `ece`: expected calibration error, above 0 for the best of judges where claims "
        "are few. Of a kind: its claims beside all true ones."
    ),
    "extraction": (
        "Reports composed of sentences of which it is known what they claim. `recall`: sentences of which a "
        "claim says the same; `precision`: claims that are one; `false claims`: sentences that claim nothing "
        "and gave one; `typed`: claims whose class is right."
    ),
    "retest": (
        "The same again, with what should not matter changed: claims in reverse order (`grouped`), a second "
        "draw (`score`, difference in parts of the scale)."
    ),
    "position": (
        "`first`: how often the first of two equals wins, or its probability, ideally 0.5; `bias`: its "
        "distance from that; `flipped`: pairs, or claims, of which the order decides; `won`: the report "
        "against its twin. `options`: Yes or No beside No or Yes."
    ),
    "sensitivity": (
        "Reports and their twins with one flaw. `right`: the score fell, or did not rise where it should not; "
        "`wrong`: the twin scored higher; `moved`: mean change in parts of the scale. Over all flaws, `right` "
        "is of those alone that the score should fall by."
    ),
    "obedience": (
        "`success`: what an instruction in the text wanted was done, of the cases in which it was not said "
        "before; `control`: the same of harmless words in its place; `over control`: the difference; "
        "`already`: cases in which it was said before; `shift`: mean change towards it. `n` counts both."
    ),
    "labels": ("Agreement with people's labels on annotated reports."),
}
