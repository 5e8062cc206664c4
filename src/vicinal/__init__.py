"""Language models that look up how their own neighborhood goes on."""

__version__ = "0.1.0"

__all__ = ["__version__"]
