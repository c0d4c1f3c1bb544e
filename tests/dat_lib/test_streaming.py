import subprocess
import sys

import pytest

STREAM = """
import resource
import numpy as np
from dat_lib.estimator import DAT
from dat_lib.toyworld.simulation import simulate

world = simulate(seed=0, dim=128)
train = world.part("train")
model = DAT(working_memory=32).fit(
    world.embeddings[train], world.labels[train], world.attributes[train],
    class_text=world.text["class"], group_text=world.text["group"],
)
rng = np.random.default_rng(0)
for blocks in (8, 40):
    for _ in range(blocks):
        model.predict(rng.normal(size=(4096, 128)).astype(np.float32) + 1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_stays_flat_however_many_queries_are_streamed():
    run = subprocess.run([sys.executable, "-c", STREAM], capture_output=True, text=True, check=True)
    after_few, after_many = map(int, run.stdout.split())
    assert after_many < after_few + 24  # MiB; the later blocks hold 80 MiB of queries
