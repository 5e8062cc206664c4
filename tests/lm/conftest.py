"""The real model as a fixture, for the few tests that need it."""

import pytest

from tiny_models import real_model


@pytest.fixture(scope="session")
def smollm2():
    """Give the real SmolLM2, pulled and cached; skip visibly where it cannot be had."""
    return real_model()
