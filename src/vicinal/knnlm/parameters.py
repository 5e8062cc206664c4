"""
Fitted parameters as they are kept in a store or a file: JSON, with what they belong to.

They belong to a schema and to a model: taken to another, they would be numbers without a meaning,
so that is refused. They remember the documents they were fitted on, so that nobody tests on them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vicinal.errors import CalibrationError, FingerprintError
from vicinal.knnlm.mixture import Mixture
from vicinal.locality import LocalitySchema

FORMAT = 1


@dataclass(frozen=True)
class Parameters:
    """
    The rungs of a ladder, each a mixture by its name, and where they come from.

    *fitted_on* holds content hashes of documents; *notes* tells per rung how the fit went.
    """

    fingerprint: str
    schema: LocalitySchema
    k: int
    rungs: Mapping[str, Mixture]
    fitted_on: frozenset[str] = frozenset()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def check(self, fingerprint: str, schema: LocalitySchema) -> None:
        """Refuse to be applied to another model or another schema than were fitted."""
        if fingerprint != self.fingerprint:
            raise FingerprintError(
                f"The parameters were fitted for model {self.fingerprint[:16]}, the store is of "
                f"{fingerprint[:16]}. Fit again for this store."
            )
        if schema.to_dict() != self.schema.to_dict():
            raise CalibrationError(
                f"The parameters were fitted for the levels {', '.join(self.schema.level_names)}; "
                f"the store's are {', '.join(schema.level_names)}. Fit again for this store."
            )

    def to_json(self) -> str:
        """Write everything as JSON."""
        return json.dumps(
            {
                "format": FORMAT,
                "fingerprint": self.fingerprint,
                "schema": self.schema.to_dict(),
                "k": self.k,
                "rungs": {name: mixture.to_dict() for name, mixture in self.rungs.items()},
                "fitted_on": sorted(self.fitted_on),
                "notes": dict(self.notes),
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> "Parameters":
        """Read what `to_json` wrote."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise CalibrationError(
                    f"Expected parameters of format {FORMAT}, found {data['format']}. "
                    "Fit again, or use the vicinal that wrote them."
                )
            return cls(
                data["fingerprint"],
                LocalitySchema.from_dict(data["schema"]),
                int(data["k"]),
                {name: Mixture.from_dict(rung) for name, rung in data["rungs"].items()},
                frozenset(data["fitted_on"]),
                data["notes"],
            )
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise CalibrationError(
                f"These are not vicinal's parameters ({error!r}). "
                "Expected what `vicinal fit --save FILE` writes."
            ) from error
