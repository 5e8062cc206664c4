"""Slow, obvious versions of what the package computes: loops and Python floats, no tricks."""

import math
from collections import defaultdict


def log_sum(terms):
    """Add numbers given by their logarithms; nothing at all is minus infinity."""
    finite = [t for t in terms if t > -math.inf]
    if not finite:
        return -math.inf
    peak = max(finite)
    return peak + math.log(sum(math.exp(t - peak) for t in finite))


def matches(attribute, query, stored):
    """Say whether two spans agree in one attribute: in all its values, or in one of them."""
    mine, theirs = query.get(attribute.name, ()), stored.get(attribute.name, ())
    if type(attribute).__name__ == "Same":
        return bool(mine) and bool(theirs) and mine == theirs
    return any(value in theirs for value in mine)


def level(schema, query, stored):
    """Give the last level all of whose attributes match; 0 if none has that."""
    by_name = {a.name: a for a in schema.attributes}
    found = 0
    for number, one in enumerate(schema.levels, start=1):
        if all(matches(by_name[name], query, stored) for name in one.requires):
            found = number
    return found


def calibrate(distance, level, weights, biases):
    """Move one neighbor along the line of its level; what is absent stays absent."""
    return math.inf if math.isinf(distance) else weights[level] * distance + biases[level]


def mlp_lines(calibration, key):
    """Run the two layers for one query, neuron by neuron; give its weights and biases."""
    pairs = zip(key, calibration.mean.tolist(), calibration.scale.tolist(), strict=True)
    standard = [(x - mean) / scale for x, mean, scale in pairs]
    hidden = [max(0.0, _neuron(row, standard)) for row in calibration.hidden.tolist()]
    answer = [_neuron(row, hidden) for row in calibration.out.tolist()]
    start_w, start_b = calibration.start.weights.tolist(), calibration.start.biases.tolist()
    n = len(start_w)
    weights = [w + a / calibration.unit for w, a in zip(start_w, answer[:n], strict=True)]
    return weights, [start_b[0], *(b + a for b, a in zip(start_b[1:], answer[n:], strict=True))]


def adaptive_lam(network, features, lam):
    """Run the two layers for one query, neuron by neuron, and move the logit of the fixed λ."""
    pairs = zip(features, network.mean.tolist(), network.scale.tolist(), strict=True)
    standard = [max(-4.0, min(4.0, (x - mean) / scale)) for x, mean, scale in pairs]
    hidden = [math.tanh(_neuron(row, standard)) for row in network.hidden.tolist()]
    logit = math.log(lam / (1 - lam)) + _neuron(network.out.tolist(), hidden)
    return 1 / (1 + math.exp(-min(12.0, logit)))


def _neuron(row, inputs):
    *weights, bias = row
    return sum(w * x for w, x in zip(weights, inputs, strict=True)) + bias


def p_knn(distances, values):
    """Eq. 2 for one query: what each retrieved token's probability is."""
    total = log_sum([-d for d in distances])
    mass = defaultdict(list)
    for distance, value in zip(distances, values, strict=True):
        if not math.isinf(distance):
            mass[value].append(-distance)
    return {value: math.exp(log_sum(terms) - total) for value, terms in mass.items()}


def mixed(neighbors, p_lm, lam):
    """Eq. 3 over the whole vocabulary; without neighbors the base model is all there is."""
    lam = lam if neighbors else 0.0
    return [lam * neighbors.get(token, 0.0) + (1 - lam) * p for token, p in enumerate(p_lm)]


def features(distances, calibrated, values, log_p_values, entropy):
    """Tell one query's features by name; nothing but zeros where it has no neighbor."""
    present = [i for i, g in enumerate(calibrated) if not math.isinf(g)]
    if not present:
        return dict.fromkeys(
            ("nearest", "repeated", "decided", "distinct", "agreement", "entropy"), 0.0
        )
    tokens = p_knn(calibrated, values)
    decided = min(1 - 1e-4, max(1e-4, max(tokens.values())))
    ranked = sorted(calibrated)
    near = {values[i] for i in present if calibrated[i] <= ranked[min(16, len(ranked)) - 1]}
    agreement = [share * max(-12.0, _given(i, values, log_p_values)) for i, share in tokens.items()]
    return {
        "nearest": math.asinh(min(calibrated)),
        "repeated": math.log(max(1e-3, min(distances))),
        "decided": math.log(decided / (1 - decided)),
        "distinct": math.log(len(near)),
        "agreement": sum(agreement),
        "entropy": entropy,
    }


def _given(token, values, log_p_values):
    return next(log_p for value, log_p in zip(values, log_p_values, strict=True) if value == token)


def loss(observations, objective, weights, biases, lam):
    """Average −log p, position by position."""
    losses = []
    for row in range(len(observations)):
        rows = (observations.distances, observations.levels, observations.hits)
        columns = list(zip(*(part[row].tolist() for part in rows), strict=True))
        calibrated = [(calibrate(d, n, weights, biases), hit) for d, n, hit in columns]
        hits = log_sum([-g for g, hit in calibrated if hit])
        log_p = hits - log_sum([-g for g, _ in calibrated]) if hits > -math.inf else -math.inf
        if objective == "mixture":
            neighbors = math.log(lam) + log_p if lam else -math.inf
            losses.append(
                -log_sum([neighbors, math.log(1 - lam) + float(observations.log_p_lm[row])])
            )
        elif hits > -math.inf:
            losses.append(-log_p)
    return sum(losses) / len(losses)


def search(snapshot, query, k, without):
    """Compare one query with every live entry outside of a range; give (distance, entry) pairs."""
    dead = {entry for lo, hi in snapshot.dead.tolist() for entry in range(lo, hi)}
    found = []
    for segment in snapshot.segments:
        for row, key in enumerate(segment.keys.tolist()):
            entry = segment.base + row
            if entry not in dead and not without[0] <= entry < without[1]:
                found.append((sum((q - x) ** 2 for q, x in zip(query, key, strict=True)), entry))
    return sorted(found)[:k]


def value_of(snapshot, entry):
    """Look a token up in the segment that has the entry."""
    for segment in snapshot.segments:
        if segment.base <= entry < segment.base + len(segment):
            return int(segment.values[entry - segment.base])
    raise LookupError(entry)


def span_of(snapshot, entry):
    """Find the attributes of the span that has the entry."""
    return next(s.attributes for s in snapshot.spans if s.lo <= entry < s.hi)


def even_cap(sizes, total):
    """Try every cap up to the largest size; give the last under which all fits."""
    caps = range(max(sizes, default=0) + 1)
    return max(cap for cap in caps if sum(min(size, cap) for size in sizes) <= total)


def clustered(values, clusters):
    """Give the mean, and its variance as the clusters differ from it; one alone says nothing."""
    mean = sum(values) / len(values)
    off = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        off[cluster] += value - mean
    if len(off) == 1:
        return mean, math.inf
    return mean, sum(x * x for x in off.values()) / len(values) ** 2


def wilson(share, n, z=1.96):
    """Give the textbook interval of a share among n that are independent."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def share_interval(hits, clusters):
    """Give Wilson's interval for as many hits as would vary like this if they were independent."""
    share, variance = clustered(hits, clusters)
    if math.isinf(variance):
        return 0.0, 1.0
    varies = 0 < share < 1
    n = share * (1 - share) / variance if varies and variance > 1e-15 else len(hits)
    return wilson(share, min(n, len(hits)))


def mean_interval(values, clusters):
    """Give the mean minus and plus 1.96 standard errors."""
    mean, variance = clustered(values, clusters)
    return mean - 1.96 * math.sqrt(variance), mean + 1.96 * math.sqrt(variance)


def log_p_hits(distances, hits):
    """Give the logarithm of the hits' share of Eq. 2, for one query."""
    right = [-d for d, hit in zip(distances, hits, strict=True) if hit]
    return log_sum(right) - log_sum([-d for d in distances]) if any(hits) else -math.inf


def odds_ratio(rows, level, n_bins):
    """Compare a level with level 0 inside of each position and bin; the ratio and the strata."""
    finite = [d for row in rows[0] for d in row if math.isfinite(d)]
    width = (max(finite) - min(finite)) / n_bins
    strata = defaultdict(lambda: [0, 0, 0, 0])
    for position, neighbors in enumerate(zip(*rows, strict=True)):
        for d, own, hit in zip(*neighbors, strict=True):
            if math.isfinite(d) and own in (0, level):
                bin_ = min(int((d - min(finite)) / width), n_bins - 1) if width else n_bins - 1
                strata[position, bin_][2 * (own == 0) + (not hit)] += 1
    both = [cell for cell in strata.values() if cell[0] + cell[1] and cell[2] + cell[3]]
    up = sum(
        hits * other_misses / sum(cell) for cell in both for hits, _, _, other_misses in [cell]
    )
    down = sum(
        misses * other_hits / sum(cell) for cell in both for _, misses, other_hits, _ in [cell]
    )
    return (up / down if down else math.inf if up else math.nan), len(both)
