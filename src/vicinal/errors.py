"""
Every error vicinal raises on purpose.

* VicinalError
  - CorpusError          (also a ValueError): files or attributes are not as a reader expects
  - DownloadError        (also an OSError): something could not be fetched
  - ModelError           (also a ValueError): a language model cannot be used as asked
  - StoreError           (also a ValueError): a store, or what is put in it, is not as it should be
      - FingerprintError : the store belongs to another model, tokenizer or key layer
      - StoreLockedError : another process is writing
      - CorruptStoreError: what lies on disk is not what was written
  - SearchError          (also a ValueError): an index cannot answer the search
  - SchemaError          (also a ValueError): a locality schema contradicts itself or the data
  - CalibrationError     (also a ValueError): parameters and what they are applied to disagree
  - InterpolationError   (also a ValueError): two models cannot be mixed as asked
  - EvaluationError      (also a ValueError): a measurement would not mean what it says
"""


class VicinalError(Exception):
    """Base class: catch this to catch everything vicinal raises on purpose."""


class CorpusError(VicinalError, ValueError):
    """Files, attributes or labels are not as a reader expects them."""


class DownloadError(VicinalError, OSError):
    """Something could not be fetched, or is not what was promised."""


class ModelError(VicinalError, ValueError):
    """A language model cannot be loaded or used as asked."""


class StoreError(VicinalError, ValueError):
    """A store, or what is put into it, is not as it should be."""


class FingerprintError(StoreError):
    """The store was made by another model, tokenizer or key layer."""


class StoreLockedError(StoreError):
    """Another process is writing to the store."""


class CorruptStoreError(StoreError):
    """What lies on disk is not what was written."""


class SearchError(VicinalError, ValueError):
    """An index cannot answer the search it was asked."""


class SchemaError(VicinalError, ValueError):
    """A locality schema contradicts itself or the data."""


class CalibrationError(VicinalError, ValueError):
    """Calibration parameters and what they are applied to disagree."""


class InterpolationError(VicinalError, ValueError):
    """Two models cannot be mixed as asked."""


class EvaluationError(VicinalError, ValueError):
    """A measurement would not mean what it says."""
