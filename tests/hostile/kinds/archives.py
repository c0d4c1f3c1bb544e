"""Archives of datasets."""

import io
import random
import stat
import tarfile
import zipfile
from collections.abc import Iterator

from tests.hostile import mutating
from tests.hostile.kinds.images import Tables
from tests.hostile.kinds.kind import Words
from tests.hostile.watching import World


class Archives(Tables):
    """Archives of datasets, with names, members and sizes that no honest archive has."""

    name = "archives"

    def harm(self, world: World, chance: random.Random) -> None:
        """Put an archive where the COVID-19 dataset's is looked for."""
        place = world.home / "data/covid/covid-chestxray-dataset.zip"
        place.parent.mkdir(parents=True)
        place.write_bytes(_archive(chance))
        if chance.random() < 0.4:
            place.write_bytes(mutating.harmed_bytes(place.read_bytes(), chance))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Ask for the dataset."""
        yield ("run", "--dataset", "covid", "--backbone", "tiny", "--method", "zero_shot")


def _archive(chance: random.Random) -> bytes:
    """Return a tar or zip archive of a dataset with some strange members."""
    names = (*(text[:3000] for text in mutating.TEXTS), "a/" * 1200 + "x", "metadata.csv", "metadata.csv/x", ".", "./.")
    table = b"finding,sex,view,filename\nPneumonia/Viral/COVID-19,M,PA,a.png\nNone,F,AP,../../outside.png\n"
    members = [("metadata.csv", table), ("images/a.png", b"no image")]
    members += [(chance.choice(names), b"x") for _ in range(chance.randrange(4))]
    chance.shuffle(members)
    data = io.BytesIO()
    if chance.random() < 0.4:
        with zipfile.ZipFile(data, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for name, content in members:
                info = zipfile.ZipInfo(name or "x")
                kinds = (stat.S_IFREG, stat.S_IFREG, stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO)
                info.external_attr = (chance.choice(kinds) | 0o777) << 16
                archive.writestr(info, content)
        return data.getvalue()
    mode = chance.choice(("w", "w:gz", "w:xz", "w:bz2"))
    with tarfile.open(fileobj=data, mode=mode, format=chance.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o7777
            if chance.random() < 0.15:
                kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE, b"Z")
                member.type, member.size = chance.choice(kinds), 0
                member.linkname = chance.choice(("metadata.csv", "/proc/version", "..", "../../../outside.txt"))
            if chance.random() < 0.1:
                member.pax_headers = {"path": chance.choice(names), "size": str(chance.choice((0, 10**12, -1)))}
            try:
                tar.addfile(member, io.BytesIO(content))
            except (OSError, ValueError):
                continue
    return data.getvalue()
