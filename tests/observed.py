"""Neighbors of made-up positions, right by a chance that is known."""

import math

import torch

from vicinal.locality import Observations

NAMES = ("none", "project", "directory")


def observations(
    seed: int, n: int = 60, k: int = 16, absent: int = 0, n_levels: int = 3
) -> Observations:
    """Draw neighbors whose chance to be right falls with distance and rises with level."""
    generator = torch.Generator().manual_seed(seed)
    distances = (torch.rand(n, k, generator=generator) * 20).sort(1).values
    levels = torch.randint(0, n_levels, (n, k), generator=generator).byte()
    chance = (0.2 + 0.3 * levels) * (1 - distances / 25)
    hits = torch.rand(n, k, generator=generator) < chance
    if absent:
        distances[:, -absent:], hits[:, -absent:] = math.inf, False
    return Observations(distances, levels, hits, torch.zeros(n), torch.zeros(n, 2))
