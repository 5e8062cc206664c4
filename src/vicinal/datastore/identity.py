"""
To whom a store belongs: the model, tokenizer and key layer that made its keys, and its schema.

Knows nothing of what is stored.
"""

from dataclasses import asdict, dataclass

from vicinal.errors import CorruptStoreError, FingerprintError
from vicinal.lm.language_model import AbstractLanguageModel


@dataclass(frozen=True)
class StoreIdentity:
    """
    What never changes in the life of a store.

    *output_dim* is None where the model's outputs are not kept. *schema* is a locality schema as
    text, which the store carries for others. *dtype* is in what precision the model computed.
    """

    fingerprint: str
    key_dim: int
    output_dim: int | None = None
    model: str = ""
    schema: str = ""
    dtype: str = ""

    @classmethod
    def of_model(
        cls,
        model: AbstractLanguageModel,
        *,
        schema: str = "",
        dtype: str = "",
        keep_outputs: bool = True,
    ) -> "StoreIdentity":
        """Describe the store that a model's encodings go into."""
        output_dim = model.output_dim if keep_outputs else None
        return cls(model.fingerprint, model.key_dim, output_dim, model.name, schema, dtype)

    @classmethod
    def from_records(cls, records: dict[str, str]) -> "StoreIdentity":
        """Read what `records` wrote."""
        try:
            return cls(
                fingerprint=records["fingerprint"],
                key_dim=int(records["key_dim"]),
                output_dim=int(records["output_dim"]) if records["output_dim"] else None,
                model=records["model"],
                schema=records["schema"],
                dtype=records["dtype"],
            )
        except (KeyError, ValueError) as error:
            raise CorruptStoreError(
                f"The manifest should say to which model the store belongs, found {records}. "
                "Restore it from a copy, or delete the store and index again."
            ) from error

    def records(self) -> dict[str, str]:
        """Write every field as a text."""
        return {name: "" if v is None else str(v) for name, v in asdict(self).items()}

    def check_fingerprint(self, fingerprint: str, model: str = "") -> None:
        """Refuse another model, tokenizer or key layer than the one that made the keys."""
        if fingerprint != self.fingerprint:
            raise FingerprintError(
                f"The store was made by {self.model or 'a model'} with fingerprint "
                f"{self.fingerprint}, this is {model or 'a model'} with fingerprint {fingerprint}. "
                "Load the model that made it (the same tokenizer and key layer too), "
                "or index again into another store."
            )
