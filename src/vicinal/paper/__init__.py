"""The paper's experiments, whole: its corpora, its tables and figures, and where it departs."""

from vicinal.paper.baselines import Baseline, baseline
from vicinal.paper.describing import tables
from vicinal.paper.protocol import Encyclopedia, Protocol, java, view, wikitext
from vicinal.paper.report import PaperReport
from vicinal.paper.scene import How
from vicinal.paper.study import Findings, Material, Plan, Watch, read_whole, study

__all__ = [
    "Baseline",
    "Encyclopedia",
    "Findings",
    "How",
    "Material",
    "PaperReport",
    "Plan",
    "Protocol",
    "Watch",
    "baseline",
    "java",
    "read_whole",
    "study",
    "tables",
    "view",
    "wikitext",
]
