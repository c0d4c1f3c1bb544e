"""Extraction: every image once, whatever the batches, workers, shards and devices; interruptions cost one shard."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from dat_lib.backbones.backbone import TextVectors
from dat_lib.backbones.extraction import Shard, extract, shard_numbers
from dat_lib.datasets.images import ImageSamples, UnreadableImage

ROWS = 50
BROKEN = (7, 23)
NO_ROOM_ON_THE_PROCESSOR = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory"
)


@dataclass(frozen=True)
class Numbers:
    """A dataset whose image is the row's number; some rows cannot be read."""

    broken: tuple[int, ...] = ()

    def samples(self) -> ImageSamples:
        raise NotImplementedError

    def open_image(self, row: int):
        if row in self.broken:
            raise UnreadableImage(f"{row}.png", "the file is empty")
        return float(row)


def as_tensor(image) -> torch.Tensor:
    return torch.full((3, 2, 2), image)


class Doubler:
    """A model that gives twice the number, and runs out of memory above `room` images at once."""

    dimension = 4
    logit_scale = 100.0
    facts: dict[str, str] = {}  # noqa: RUF012
    preprocess = staticmethod(as_tensor)

    def __init__(self, room: int = 1000, complaint: Exception | None = None) -> None:
        self.room = room
        self.complaint = complaint or torch.OutOfMemoryError("no room")
        self.batches: list[int] = []

    def encode_images(self, batch: torch.Tensor) -> torch.Tensor:
        if len(batch) > self.room:
            raise self.complaint
        self.batches.append(len(batch))
        return 2 * batch[:, :1, 0, 0].expand(-1, 4)

    def encode_texts(self, prompts: Sequence[str]) -> TextVectors:
        raise NotImplementedError


def gathered(shards: list[Shard]) -> dict[int, float]:
    return {int(row): float(vector[0]) for s in shards for row, vector in zip(s.rows, s.vectors, strict=True)}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("batch_size", "shard_rows"), [(1, 50), (7, 16), (16, 16), (64, 11)])
def test_every_image_is_embedded_once(batch_size: int, shard_rows: int, workers: int) -> None:
    shards = list(extract(Numbers(), ROWS, [Doubler()], batch_size=batch_size, workers=workers, shard_rows=shard_rows))
    assert [shard.number for shard in shards] == list(shard_numbers(ROWS, shard_rows))
    assert gathered(shards) == {row: 2.0 * row for row in range(ROWS)}
    assert all(len(shard.rows) <= shard_rows and shard.vectors.dtype == np.float32 for shard in shards)


def test_shards_that_are_there_are_not_made_again() -> None:
    everything = list(extract(Numbers(), ROWS, [Doubler()], workers=0, shard_rows=16))
    model = Doubler()
    rest = list(extract(Numbers(), ROWS, [model], skip=[0, 2], workers=0, shard_rows=16))
    assert [shard.number for shard in rest] == [1, 3]
    assert sum(model.batches) == 16 + 2
    for shard in rest:
        np.testing.assert_array_equal(shard.vectors, everything[shard.number].vectors)


def test_unreadable_images_are_named_and_have_no_vector() -> None:
    shards = list(extract(Numbers(BROKEN), ROWS, [Doubler()], batch_size=8, workers=2, shard_rows=16))
    assert set(gathered(shards)) == set(range(ROWS)) - set(BROKEN)
    assert [str(problem) for shard in shards for problem in shard.unreadable] == [
        "7.png: the file is empty",
        "23.png: the file is empty",
    ]


class Refusing(Doubler):
    """A model whose preprocessing takes no image above 40."""

    def __init__(self, complaint: Exception) -> None:
        super().__init__()
        self.preprocess = Picky(complaint)  # type: ignore[assignment]


@dataclass(frozen=True)
class Picky:
    complaint: Exception

    def __call__(self, image) -> torch.Tensor:
        if image > 40:
            raise self.complaint
        return as_tensor(image)


class NamedNumbers(Numbers):
    def samples(self) -> ImageSamples:
        names = np.array([f"{row}.png" if row % 2 else "" for row in range(ROWS)])
        zeros = np.zeros(ROWS, np.int64)
        return ImageSamples(
            np.array([f"id-{row}" for row in range(ROWS)]), np.repeat("test", ROWS), zeros, zeros, names
        )


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    "complaint", [ValueError("odd"), OSError("odd"), RuntimeError("odd"), ZeroDivisionError("odd")]
)
def test_an_image_that_the_preprocessing_refuses_is_named_and_has_no_vector(complaint: Exception, workers: int) -> None:
    shards = list(extract(NamedNumbers(), ROWS, [Refusing(complaint)], batch_size=8, workers=workers, shard_rows=16))
    assert set(gathered(shards)) == set(range(41))
    problems = [problem for shard in shards for problem in shard.unreadable]
    assert [problem.file for problem in problems] == [f"{r}.png" if r % 2 else f"id-{r}" for r in range(41, ROWS)]
    assert {problem.why for problem in problems} == {"the model's preprocessing fails: odd"}


@pytest.mark.parametrize("complaint", [TypeError("a fault of ours"), NO_ROOM_ON_THE_PROCESSOR])
def test_a_fault_of_ours_or_a_lack_of_memory_is_no_fault_of_an_image(complaint: Exception) -> None:
    with pytest.raises(type(complaint)):
        list(extract(NamedNumbers(), ROWS, [Refusing(complaint)], workers=0))


def test_a_shard_without_a_single_readable_image_is_empty() -> None:
    (shard,) = extract(Numbers((0, 1, 2)), 3, [Doubler()], workers=0)
    assert shard.vectors.shape == (0, 4)
    assert len(shard.unreadable) == 3


@pytest.mark.parametrize("complaint", [torch.OutOfMemoryError("no room"), NO_ROOM_ON_THE_PROCESSOR])
def test_out_of_memory_halves_the_batch_and_goes_on(complaint: Exception) -> None:
    model = Doubler(5, complaint)
    assert gathered(list(extract(Numbers(), ROWS, [model], batch_size=16, workers=0))) == {
        row: 2.0 * row for row in range(ROWS)
    }
    assert max(model.batches) in (4, 5), "what does not fit is halved until it does, and no further"


def test_other_failures_of_the_model_are_not_taken_for_a_lack_of_memory() -> None:
    model = Doubler(5, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(extract(Numbers(), ROWS, [model], batch_size=16, workers=0))
    assert model.batches == []


@pytest.mark.parametrize("threads", [1, 3])
def test_each_thread_of_the_processor_takes_a_part_of_the_batch(threads: int) -> None:
    usual = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        model = Doubler()
        shards = list(extract(Numbers(), 48, [model], batch_size=24, workers=0))
        assert gathered(shards) == {row: 2.0 * row for row in range(48)}
        assert model.batches == [24 // threads] * 2 * threads
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(usual)


def test_out_of_memory_with_a_single_image_is_an_error() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        list(extract(Numbers(), ROWS, [Doubler(room=0)], workers=0))


def test_several_devices_share_the_shards() -> None:
    models = [Doubler(), Doubler()]
    shards = list(extract(Numbers(), ROWS, models, workers=0, shard_rows=8))
    assert gathered(shards) == {row: 2.0 * row for row in range(ROWS)}
    assert all(model.batches for model in models)


def test_a_failure_on_one_device_ends_the_extraction() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        list(extract(Numbers(), ROWS, [Doubler(), Doubler(room=0)], workers=0, shard_rows=8))


def test_progress_counts_every_image_also_unreadable_ones() -> None:
    counts: list[tuple[int, int]] = []
    list(
        extract(Numbers(BROKEN), ROWS, [Doubler()], batch_size=8, workers=0, progress=lambda *told: counts.append(told))
    )
    assert sum(images for images, _ in counts) == ROWS
    assert sum(failures for _, failures in counts) == len(BROKEN)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"workers": -1}, {"shard_rows": 0}])
def test_settings_out_of_range(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        list(extract(Numbers(), ROWS, [Doubler()], **wrong))


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty; its path is short, as paths of sockets must be."""
    folder = tmp_path_factory.getbasetemp() / f"t{os.getpid()}"
    folder.mkdir(exist_ok=True)
    assert not list(folder.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("backbones", [1, 2])
def test_workers_leave_no_temporary_files(temporary: Path, backbones: int) -> None:
    during = []
    for _ in extract(Numbers(), ROWS, [Doubler() for _ in range(backbones)], batch_size=4, workers=2, shard_rows=16):
        during += list(temporary.rglob("*"))
    assert during, "the workers must have had temporary files"
    assert not list(temporary.iterdir())


def test_an_extraction_that_is_given_up_leaves_no_temporary_files(temporary: Path) -> None:
    shards = extract(Numbers(), ROWS, [Doubler()], batch_size=4, workers=2, shard_rows=16)
    next(shards)
    shards.close()
    assert not list(temporary.iterdir())


def test_temporary_files_of_a_killed_extraction_are_removed_by_the_next_and_those_of_a_living_one_are_not(
    temporary: Path,
) -> None:
    code = (
        "import os, signal, sys\n"
        "from dat_lib.backbones.worker_files import worker_folder\n"
        "with worker_folder() as folder:\n"
        "    open(os.path.join(folder, 'listener'), 'w').close()\n"
        "    print(folder, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command, environment = [sys.executable, "-c", code], {**os.environ, "TMPDIR": str(temporary)}
    killed, alive = (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    )
    with killed, alive:
        folders = [Path(process.stdout.readline().strip()) for process in (killed, alive) if process.stdout]
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert sorted(folders) == sorted(temporary.iterdir())
        list(extract(Numbers(), ROWS, [Doubler()], workers=1))
        assert list(temporary.iterdir()) == folders[1:]
    assert not list(temporary.iterdir())
