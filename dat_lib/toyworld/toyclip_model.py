"""The parts of toyclip: a tokenizer of whole words, a processor, and two small towers."""

import math
from typing import TYPE_CHECKING, Any

from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.datasets.toybirds import SIZE
from dat_lib.toyworld.toyclip_captions import vocabulary

if TYPE_CHECKING:
    import torch
    from transformers import CLIPModel, CLIPProcessor, PreTrainedTokenizerFast

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[BOS]", "[EOS]")
LOGIT_SCALE = 100.0
DIMENSION = 64
"""Of the vectors that images and texts share."""
LONGEST = 24
"""Tokens of a prompt, its two ends included; longer ones are cut."""
PIXEL_MEAN, PIXEL_SPREAD = 0.5, 0.25


def make_processor() -> "CLIPProcessor":
    """Return a processor with a tokenizer of whole words, lower case and without punctuation."""
    import_torchvision()
    from transformers import CLIPImageProcessor, CLIPProcessor

    images = CLIPImageProcessor(
        size={"height": SIZE, "width": SIZE},
        crop_size={"height": SIZE, "width": SIZE},
        image_mean=[PIXEL_MEAN] * 3,
        image_std=[PIXEL_SPREAD] * 3,
    )
    return CLIPProcessor(images, make_tokenizer())  # type: ignore[no-untyped-call]


def make_tokenizer() -> "PreTrainedTokenizerFast":
    """Return the tokenizer: one token a word of the captions, [UNK] for any other."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [*SPECIAL_TOKENS, *vocabulary()]
    tokenizer: Any = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, "[UNK]"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Lowercase(), normalizers.Replace(Regex(r"[^\w\s]"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[(word, words.index(word)) for word in ("[BOS]", "[EOS]")]
    )
    pad, unknown, first, last = SPECIAL_TOKENS
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unknown,
        bos_token=first,
        eos_token=last,
        model_max_length=LONGEST,
        padding_side="right",
        model_input_names=["input_ids", "attention_mask"],
    )


def make_model(tokenizer: "PreTrainedTokenizerFast") -> "CLIPModel":
    """Return the untrained model, its logit scale at 100 and out of the optimiser's reach."""
    import_torchvision()
    from transformers import CLIPConfig, CLIPModel

    config = CLIPConfig(
        text_config={
            "projection_dim": DIMENSION,
            "vocab_size": len(tokenizer),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "max_position_embeddings": LONGEST,
            "hidden_act": "gelu",
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
        },
        vision_config={
            "projection_dim": DIMENSION,
            "hidden_size": 96,
            "intermediate_size": 192,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "image_size": SIZE,
            "patch_size": 8,
            "hidden_act": "gelu",
        },
        projection_dim=DIMENSION,
        logit_scale_init_value=math.log(LOGIT_SCALE),
    )
    model = CLIPModel(config)
    model.logit_scale.requires_grad_(False)
    _start_positions(model)
    return model


def _start_positions(model: "CLIPModel") -> None:
    """Start the patches' position vectors as sines and cosines of row and column.

    CLIP's own start is so small beside the patches that they are as good as unordered at first; from here a model
    that is trained for minutes learns shapes sooner.
    """
    import torch

    weight = model.vision_model.embeddings.position_embedding.weight
    side, quarter = math.isqrt(len(weight) - 1), weight.shape[1] // 4
    waves = 100.0 ** (-torch.arange(quarter) / quarter)
    place = torch.arange(side).float()[:, None] * waves
    row, column = place.repeat_interleave(side, dim=0), place.repeat(side, 1)
    with torch.no_grad():
        weight[1:] = 0.25 * torch.cat([row.sin(), row.cos(), column.sin(), column.cos()], dim=1)


def place_cones(model: "CLIPModel", images: "torch.Tensor", tokens: "dict[str, torch.Tensor]", cosine: float) -> None:
    """Rotate the text projection so that the mean text vector has this `cosine` to the mean image vector.

    Untrained towers put images and texts into two narrow cones, whose cosine is an accident of the seed, negative as
    often as not, and a contrastive loss depends on differences of cosines only, so training keeps it about there. The
    rotation replaces the accident by a stated number and changes no cosine within a modality.
    """
    import torch

    with torch.no_grad():
        image, text = (
            torch.nn.functional.normalize(vectors.mean(0), dim=0) for vectors in embed(model, images, tokens)
        )
        aside = torch.nn.functional.normalize(text - (text @ image) * image, dim=0)
        wanted = cosine * image + math.sqrt(1 - cosine**2) * aside
        both = text + wanted
        # The rotation in the plane of the two that takes `text` to `wanted`.
        rotation = torch.eye(len(text)) - torch.outer(both, both) / (1 + text @ wanted) + 2 * torch.outer(wanted, text)
        model.text_projection.weight.copy_(rotation @ model.text_projection.weight)


def embed(
    model: "CLIPModel", images: "torch.Tensor", tokens: "dict[str, torch.Tensor]"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return unit vectors of preprocessed images [B, 3, H, W] and of tokenized texts."""
    import torch

    vision = model.visual_projection(model.vision_model(pixel_values=images).pooler_output)
    text = model.text_projection(model.text_model(**tokens).pooler_output)
    return torch.nn.functional.normalize(vision, dim=-1), torch.nn.functional.normalize(text, dim=-1)
