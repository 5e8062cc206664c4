"""The paper's experiments, whole: its corpora, its tables and figures, and where it departs."""

from vicinal.paper.protocol import Encyclopedia, Protocol, java, view, wikitext

__all__ = ["Encyclopedia", "Protocol", "java", "view", "wikitext"]
