"""Metrics of a report (DREAM, section 3 and appendix C)."""

from __future__ import annotations

from local_judge.protocols.dream.authority import Authority, AuthorityFindings
from local_judge.protocols.dream.citation import Citation
from local_judge.protocols.dream.claims import CitationFindings
from local_judge.protocols.dream.factuality.findings import FactualityFindings
from local_judge.protocols.dream.factuality.metric import Factuality
from local_judge.protocols.dream.key_information import KeyInformation, KeyInformationFindings
from local_judge.protocols.dream.reasoning import Reasoning
from local_judge.protocols.dream.reasoning_findings import ReasoningFindings
from local_judge.protocols.dream.writing import Writing, WritingFindings
from local_judge.protocols.metric import MetricProtocol, PartFindings
from local_judge.protocols.probes import InjectionProbe, SensitivityProbe, citation_expectations, expectations


class DreamFindings(PartFindings):
    """Findings of each metric."""

    writing: WritingFindings | None = None
    factuality: FactualityFindings | None = None
    citation: CitationFindings | None = None
    authority: AuthorityFindings | None = None
    key_information: KeyInformationFindings | None = None
    reasoning: ReasoningFindings | None = None


class Dream(MetricProtocol[DreamFindings]):
    """Metrics of DREAM, 0 to 100. Its code is not published, so there is only the profile `paper`."""

    name = "dream"
    version = "5"
    findings_type = DreamFindings
    metrics = (Writing, Factuality, Citation, Authority, KeyInformation, Reasoning)
    sensitivity_probes = (
        SensitivityProbe("citation", {"parts": ["citation"]}, citation_expectations("citation/faithfulness")),
        SensitivityProbe(
            "reasoning",
            {"parts": ["reasoning"], "reasoning": {"search": False}},
            expectations("reasoning", ("reasoning",)),
        ),
        SensitivityProbe(
            "key_information", {"parts": ["key_information"]}, expectations("key_information", ("dropped",))
        ),
        SensitivityProbe("writing", {"parts": ["writing"]}, expectations("writing")),
    )
    injection_probes = (
        InjectionProbe("key_information", "checklist", {"parts": ["key_information"]}, "key_information"),
    )
