"""Settings that hold for every test: repeatable draws, no time limits on examples, no hub."""

import os

import torch
from hypothesis import Phase, settings

settings.register_profile("vicinal", deadline=None, derandomize=True, max_examples=50)
# For mutation runs: a mutant is dead at the first failure, nobody reads the smallest one.
settings.register_profile(
    "mutants",
    settings.get_profile("vicinal"),
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("vicinal")
torch.manual_seed(0)
# What a command inherits when a test runs it as a process of its own.
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "NO_COLOR": "1"}


def pytest_collection_modifyitems(items):
    """Begin with the tests of the module that a mutant is of: most mutants die there."""
    mutant = os.environ.get("MUTANT_UNDER_TEST", "").split(".")
    if mutant[0] == "vicinal":
        _, room, module, *_ = mutant
        items.sort(key=lambda item: not item.path.match(f"{room}/test_{module}.py"))
