"""Specs: TOML files of every kind."""

import random
import shutil
from collections.abc import Iterator

from tests.conftest import PROMPTS
from tests.hostile import mutating
from tests.hostile.kinds.kind import Kind, Words, harm_file, write_specs
from tests.hostile.watching import World

SPECS = {
    "datasets/mine": 'title = "mine"\nprompts = "mine"\ngroups = "class_attribute"\nreference_split = "train"\n'
    '[source]\nkind = "simulated"\n[source.settings]\ndim = 10\ntrain = 80\nval = 8\ntest = 40\nseed = 1\n'
    "correlation = 0.8\n",
    "backbones/mine-clip": 'title = "mine"\nkind = "simulated"\ndimension = 10\nlogit_scale = 50.0\nlicence = "MIT"\n',
    "prompts/mine": 'source = "here"\n' + PROMPTS + '[prompts.tie]\nclass = ["a photo of a landbird", "a photo of a '
    'waterbird"]\nsource = "there"\n',
    "methods/dat": "[defaults]\nepsilon = 1e-8\n[datasets.mine]\nn = 4\nk = 2\nstrength = 2.0\n",
    "suites/mine": 'title = "mine"\n[[grid]]\ndatasets = ["mine"]\nbackbones = ["mine-clip"]\n'
    'methods = ["zero_shot", "dat"]\nseeds = [0, 1]\nprompts = ["mine"]\n[[grid]]\ndatasets = ["mine"]\n'
    'backbones = ["mine-clip"]\nmethods = ["dat"]\n[grid.set]\nk = [2, 3]\nterms = "both"\n'
    '[[diagnostics]]\ndatasets = ["mine"]\nbackbones = ["mine-clip"]\nkinds = ["shell", "margins"]\n'
    '[[theory]]\nchecks = ["cosine_ties"]\n[theory.set]\n',
}


class Specs(Kind):
    """TOML specs of every kind."""

    name = "specs"

    def prepare(self, world: World) -> None:
        """Five specs of one simulated dataset."""
        write_specs(world, SPECS)

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one of them, or its name."""
        path = world.work / "specs" / f"{chance.choice(list(SPECS))}.toml"
        if chance.random() < 0.05:
            name = chance.choice(
                ("..toml", "a b.toml", "[red]x.toml", "\x1b[31m.toml", "a\n.toml", "x" * 240 + ".toml")
            )
            shutil.copy(path, path.with_name(name))
        else:
            harm_file(path, chance, mutating.harmed_toml, world)

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Check, plan, list and sometimes run them."""
        yield ("validate", *chance.choice(((), ("--json",), ("specs/suites/mine.toml",))))
        yield ("plan", "mine", *chance.choice(((), ("--json",), ("--all",))))
        yield ("ls", chance.choice(("datasets", "backbones", "methods", "prompts", "suites")))
        if chance.random() < 0.1:
            yield ("run", "mine", "--method", "zero_shot")
