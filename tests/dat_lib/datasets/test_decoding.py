import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dat_lib.datasets.files.decoding import ImageFiles, read_image
from dat_lib.datasets.images import ImageSamples, UnreadableImage
from tests.dat_lib.datasets.miniatures import write_image


def reason(root: Path, file: str) -> str:
    with pytest.raises(UnreadableImage) as refused:
        read_image(root, file)
    assert refused.value.file == file
    return refused.value.why


@pytest.mark.parametrize(
    ("file", "mode"),
    [
        ("a.png", "P"),
        ("a.png", "RGBA"),
        ("a.png", "L"),
        ("a.png", "LA"),
        ("a.png", "1"),
        ("a.jpg", "CMYK"),
        ("a.gif", "P"),
    ],
)
def test_an_image_keeps_its_mode_and_converts_as_pillow_converts_it(file: str, mode: str, tmp_path: Path) -> None:
    write_image(tmp_path / file, 0, mode=mode)
    image = read_image(tmp_path, file)
    assert image.mode == mode
    with Image.open(tmp_path / file) as by_hand:
        assert image.convert("RGB").tobytes() == by_hand.convert("RGB").tobytes()


def test_transparent_pixels_keep_the_colour_below(tmp_path: Path) -> None:
    """CLIP's preprocessing drops the alpha channel, it does not paint a background."""
    Image.new("RGBA", (1, 1), (10, 20, 30, 0)).save(tmp_path / "a.png")
    assert read_image(tmp_path, "a.png").convert("RGB").getpixel((0, 0)) == (10, 20, 30)


@pytest.mark.parametrize("file", ["deep.png", "deep.tif", "deep.pgm"])
def test_16_bit_grey_is_scaled_to_8_bits_not_clipped(file: str, tmp_path: Path) -> None:
    values = np.linspace(0, 65535, 64 * 64).astype(np.uint16).reshape(64, 64)
    if file.endswith("pgm"):
        (tmp_path / file).write_bytes(b"P5 64 64 65535\n" + values.astype(">u2").tobytes())
    else:
        Image.fromarray(values).save(tmp_path / file)
    grey = np.asarray(read_image(tmp_path, file).convert("RGB"))[..., 0]
    assert np.array_equal(grey, values // 256)
    assert grey.mean() == pytest.approx(127.5, abs=1)


def test_the_full_range_of_a_12_bit_pgm_is_white(tmp_path: Path) -> None:
    values = np.array([[0, 2048, 4095]], dtype=">u2")
    (tmp_path / "a.pgm").write_bytes(b"P5 3 1 4095\n" + values.tobytes())
    assert np.asarray(read_image(tmp_path, "a.pgm")).tolist() == [[0, 128, 255]]


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_32_bit_values_are_refused_since_their_white_is_unknown(dtype: type, tmp_path: Path) -> None:
    Image.fromarray(np.ones((4, 4), dtype=dtype)).save(tmp_path / "a.tif")
    assert "no agreed conversion to RGB" in reason(tmp_path, "a.tif")


def test_the_orientation_tag_is_left_to_the_model(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4)).save(tmp_path / "turned.jpg", exif=exif)
    assert read_image(tmp_path, "turned.jpg").size == (8, 4)


def test_missing_empty_and_foreign_files_say_so(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.png").write_text("version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "folder.png").mkdir()
    assert reason(tmp_path, "gone.png") == f"there is no such file in {tmp_path}"
    assert reason(tmp_path, "folder.png") == f"there is no such file in {tmp_path}"
    assert reason(tmp_path, "empty.png") == "the file is empty"
    assert reason(tmp_path, "text.png").startswith("is not an image of a known format")


@pytest.mark.parametrize("file", ["a.png", "a.jpg", "a.tif", "a.webp", "a.gif", "a.bmp"])
def test_a_truncated_image_is_refused_and_never_half_decoded(file: str, tmp_path: Path) -> None:
    write_image(tmp_path / file, 1, size=(64, 64), mode="P" if file == "a.gif" else "RGB")
    whole = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(whole[: len(whole) // 2])
    assert reason(tmp_path, file)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_damaged_bytes_give_an_image_or_a_reason(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    refused = 0
    for file in ("a.png", "a.jpg", "a.tif", "a.webp"):
        write_image(tmp_path / file, 2, size=(32, 32))
        whole = np.frombuffer((tmp_path / file).read_bytes(), dtype=np.uint8)
        for _ in range(40):
            damaged = whole.copy()
            damaged[random.integers(0, len(whole), 12)] = random.integers(0, 256, 12)
            (tmp_path / file).write_bytes(damaged.tobytes())
            try:
                read_image(tmp_path, file)
            except UnreadableImage:
                refused += 1
    assert refused > 20


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Importing the FMoW class of WILDS lifts Pillow's limit for the whole process.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10**10)
    monkeypatch.setattr(Image.Image, "load", lambda image: pytest.fail("decoded"))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
    (tmp_path / "bomb.png").write_bytes(bomb)
    assert reason(tmp_path, "bomb.png").startswith("60000 x 60000 pixels are more than")


def test_formats_that_start_other_programs_are_not_opened(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.eps")
    assert reason(tmp_path, "a.eps").startswith("is not an image of a known format")


def test_a_dataset_of_files_travels_to_other_processes_and_lists_what_is_missing(tmp_path: Path) -> None:
    for file in ("x/a.png", "x/b.png", "c.png"):
        write_image(tmp_path / file, 3)
    files = np.array(["x/a.png", "x/gone.png", "c.png", "nowhere/d.png", "x/gone.png"])
    zeros = np.zeros(len(files), dtype=np.int64)
    table = ImageSamples(files, np.array(["train", "val", "test", "test", "test"]), zeros, zeros, files)
    dataset = pickle.loads(pickle.dumps(ImageFiles(tmp_path, table)))
    assert dataset.missing_files().tolist() == ["nowhere/d.png", "x/gone.png"]
    assert dataset.open_image(2).size == (12, 9)
    assert dataset.samples().files.tolist() == files.tolist()
