"""Settings that hold for every test: repeatable draws, no time limits on examples, no hub."""

import os

import torch
from hypothesis import settings

settings.register_profile("vicinal", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("vicinal")
torch.manual_seed(0)
# What a command inherits when a test runs it as a process of its own.
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "NO_COLOR": "1"}
