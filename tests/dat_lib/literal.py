"""Slow, literal versions of the paper's formulas in float64: one loop a symbol, nothing shared with the library."""

import math

import numpy as np

ROUNDING = 1e-12
"""Values closer than this are a tie, which goes to the smallest index."""


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def herd_argmin(pool, n):
    """Appendix "Reference-set construction": argmin || mu - (z + sum of chosen) / k ||, chosen items excluded."""
    pool = np.asarray(pool, dtype=np.float64)
    mu = pool.mean(axis=0)
    chosen = []
    for k in range(1, n + 1):
        best, best_distance = None, math.inf
        for i, z in enumerate(pool):
            if i in chosen:
                continue
            distance = np.linalg.norm(mu - (z + pool[chosen].sum(axis=0)) / k)
            if distance < best_distance - ROUNDING:
                best, best_distance = i, distance
        chosen.append(best)
    return chosen


def herd_argmax(pool, n):
    """The same, in the second form: argmax <z, mu> - <z, S> / k. Equal to the first for unit vectors."""
    pool = np.asarray(pool, dtype=np.float64)
    mu = pool.mean(axis=0)
    chosen = []
    for k in range(1, n + 1):
        best, best_value = None, -math.inf
        for i, z in enumerate(pool):
            if i in chosen:
                continue
            value = z @ mu - z @ pool[chosen].sum(axis=0) / k
            if value > best_value + ROUNDING:
                best, best_value = i, value
        chosen.append(best)
    return chosen


def distances_to(point, references, leave_out=None):
    """(distance, index) pairs in ascending order, ties by index."""
    return sorted(
        (float(np.linalg.norm(np.asarray(point, np.float64) - np.asarray(o, np.float64))), i)
        for i, o in enumerate(references)
        if i != leave_out
    )


def reference_k_distance(references, i, k):
    """kd(o): the distance to the k-th neighbour among the other references, floored at 1e-12."""
    return max(distances_to(references[i], references, leave_out=i)[k - 1][0], 1e-12)


def slof(query, references, k, leave_out=None):
    """(1/k) sum over NN_k(z) of kd(z) / kd(o)."""
    neighbours = distances_to(query, references, leave_out)[:k]
    kd = neighbours[-1][0]
    return sum(kd / reference_k_distance(references, i, k) for _, i in neighbours) / k


def knn_distance(query, references, k, leave_out=None):
    return distances_to(query, references, leave_out)[k - 1][0]


def neighbour_distances(references, i, k):
    return [distance for distance, _ in distances_to(references[i], references, leave_out=i)[:k]]


def lid_mle(references, i, k):
    """[ 1/(m-1) sum over j<m of ln(r_m / r_j) ]^-1, m = k; duplicates (distance 0) do not count."""
    *nearer, largest = neighbour_distances(references, i, k)
    logarithms = [math.log(largest / distance) for distance in nearer if distance > 0]
    if not logarithms:
        return 1.0
    mean = sum(logarithms) / len(logarithms)
    return min(1 / mean, 1e6) if mean > 0 else 1e6


def lid_mom(references, i, k):
    """mu / (r_m - mu), mu the mean of the first m-1 distances that are not 0 (ELKI)."""
    *nearer, largest = neighbour_distances(references, i, k)
    return _first_moment([distance for distance in nearer if distance > 0], largest)


def lid_mom_all(references, i, k):
    """mu / (r_m - mu), mu the mean of all m distances that are not 0 (Amsaleg 2018)."""
    distances = neighbour_distances(references, i, k)
    return _first_moment([distance for distance in distances if distance > 0], distances[-1])


def _first_moment(distances, largest):
    if not distances:
        return 1.0
    mu = sum(distances) / len(distances)
    return min(mu / (largest - mu), 1e6) if largest > mu else 1e6


def dao(query, references, k, lid, leave_out=None):
    """(1/k) sum over NN_k(z) of (kd(z) / kd(o)) ** LID(o)."""
    neighbours = distances_to(query, references, leave_out)[:k]
    kd = neighbours[-1][0]
    total = 0.0
    for _, i in neighbours:
        total += np.power(kd / reference_k_distance(references, i, k), lid(references, i, k))
    return total / k


def dat_scores(
    query, references, class_text, group_text, k, strength, epsilon=1e-8, n=None, terms="both", density=slof
):
    """Algorithm 1 for one query: references[y][a] is a list of vectors, all vectors of unit length."""
    K, M = len(group_text), len(group_text[0])
    scores = []
    for y in range(K):
        translated = []
        for a in range(M):
            s = float(np.dot(query, group_text[y][a]))
            enough = len(references[y][a]) >= n if n is not None else True
            D = density(query, references[y][a], k) if enough else math.inf
            translated.append(s / (D + epsilon) ** strength)
        average = (sum(translated) + float(np.dot(query, class_text[y]))) / (M + 1)
        group = max(translated)
        scores.append({"both": max(group, average), "group": group, "average": average}[terms])
    return scores


def dat_logits(query, references, class_text, group_text, k, strength, temperature, epsilon=1e-8, n=None, terms="both"):
    """The margin of the theory, l - strength log D; its average is the paper's, of exponentials."""
    scores = []
    for y, row in enumerate(group_text):
        margins = []
        for a, prompt in enumerate(row):
            if n is not None and len(references[y][a]) < n:
                margins.append(-math.inf)
                continue
            D = slof(query, references[y][a], k)
            margins.append(float(np.dot(query, prompt)) / temperature - strength * math.log(D + epsilon))
        of_class = float(np.dot(query, class_text[y])) / temperature
        total = sum(math.exp(margin) for margin in margins) + math.exp(of_class)
        average = math.log(total / (len(row) + 1))
        group = max(margins)
        scores.append({"both": max(group, average), "group": group, "average": average}[terms])
    return scores
