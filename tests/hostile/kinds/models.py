"""Models: configs, tokenizers and weights."""

import json
import random
from collections.abc import Iterator

from tests.hostile import mutating
from tests.hostile.kinds.images import RUN_BLOBS, Tables
from tests.hostile.kinds.kind import Words, write_specs
from tests.hostile.watching import World


class Models(Tables):
    """Model files: configs, tokenizers, weights as safetensors and as pickles, of both libraries."""

    name = "models"

    def prepare(self, world: World) -> None:
        """The tiny model also as a pickle, and one of open_clip with its config."""
        super().prepare(world)
        import torch
        from safetensors.torch import load_file

        from tests.dat_lib.backbones.small_models import (
            _OPEN_CLIP,
            OPENAI_LIKE,
            add_small_open_clip_models,
            save_checkpoint,
            small_open_clip,
        )

        tiny = world.work / "models/tiny"
        torch.save(load_file(tiny / "model.safetensors"), tiny / "pytorch_model.bin")
        folder = world.work / "models/open"
        folder.mkdir()
        add_small_open_clip_models(world.folder / "home")
        save_checkpoint(small_open_clip("small-vit"), folder / "open_clip_pytorch_model.bin")
        config = {"model_cfg": _OPEN_CLIP["small-vit"], "preprocess_cfg": OPENAI_LIKE}
        (folder / "open_clip_config.json").write_text(json.dumps(config))
        for path in world.home.iterdir():
            path.unlink()
        write_specs(world, {"backbones/open": 'kind = "open_clip"\nweights = "../../models/open"\n[settings]\n'})

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one file of one of the models."""
        self.chosen = chance.choice(("tiny", "tiny", "open"))
        folder = world.work / "models" / self.chosen
        if self.chosen == "tiny":
            unused = chance.choice(("pytorch_model.bin", "model.safetensors"))
            (folder / unused).unlink()
        path = chance.choice(sorted(folder.iterdir()))
        if chance.random() < 0.1:
            mutating.displace(path, chance, world.folder / "outside.txt")
        elif path.suffix == ".json" and chance.random() < 0.8:
            path.write_bytes(mutating.harmed_json(path.read_text(), chance))
        elif path.suffix == ".bin" and chance.random() < 0.3:
            import torch

            torch.save(mutating.harmed_tree({"a": [1, 2], "b": {"state_dict": {"c": 1.0}}}, chance), path)
        else:
            path.write_bytes(mutating.harmed_bytes(path.read_bytes(), chance))

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Embed with it."""
        yield tuple(self.chosen if word == "tiny" else word for word in RUN_BLOBS)
