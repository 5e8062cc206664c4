"""Looking into a store: where neighbors come from, when locality helps, and a report of both."""

from vicinal.analysis.provenance import Place, Provenance

__all__ = ["Place", "Provenance"]
