"""How close two contexts are in the structure of their corpus, and what that does to distance."""

from vicinal.locality.adaptive import AdaptiveLam
from vicinal.locality.calibration import (
    AbstractCalibration,
    LevelCalibration,
    MLPCalibration,
    calibration_from_dict,
)
from vicinal.locality.contextual import Network, fit_mlp
from vicinal.locality.domain import Domain, load_domain, shipped_domains
from vicinal.locality.evidence import Evidence
from vicinal.locality.fitting import Fitted, Recipe, fit_lines
from vicinal.locality.objective import Objective, Observations
from vicinal.locality.schema import BoundSchema, Level, LocalitySchema, Overlap, Same

__all__ = [
    "AbstractCalibration",
    "AdaptiveLam",
    "BoundSchema",
    "Domain",
    "Evidence",
    "Fitted",
    "Level",
    "LevelCalibration",
    "LocalitySchema",
    "MLPCalibration",
    "Network",
    "Objective",
    "Observations",
    "Overlap",
    "Recipe",
    "Same",
    "calibration_from_dict",
    "fit_lines",
    "fit_mlp",
    "load_domain",
    "shipped_domains",
]
