"""Prompt sets: the words a dataset's classes and attributes have, and the prompts made of them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import field_validator, model_validator

from data_catalog.specs.models import Spec

# A prompt, variants of it to be averaged, or a (nested) list of these.
type_of_text = "a text, a list of texts, or { variants = [...] }"
COMMON_ROLES = ("class", "attribute", "group")
_ABOUT = ("source", "ours")
_PLACEHOLDER = re.compile(r"\{(a )?(class|attribute)\}")


class PromptSet(Spec):
    """Prompts of one dataset.

    `prompts` maps a role to its text: `class` [K], `attribute` [M] and `group` [K][M] for every method, and tables
    named after a method for what that method says differently or in addition. A template such as
    `a photo of a {class} in {attribute}` is written out over the words of `classes` and `attributes`;
    `{a class}` sets the article before the word.
    """

    classes: list[str]
    attributes: list[str]
    source: str = ""
    prompts: dict[str, Any]

    @field_validator("classes", "attributes")
    @classmethod
    def _distinct(cls, words: list[str]) -> list[str]:
        if not words or len(set(words)) != len(words):
            raise ValueError("give at least one word, and each only once")
        return words

    @field_validator("classes")
    @classmethod
    def _more_than_one(cls, words: list[str]) -> list[str]:
        if len(words) == 1:
            raise ValueError("with one class there is nothing to classify: give at least two")
        return words

    @model_validator(mode="after")
    def _well_formed(self) -> "PromptSet":
        if "class" not in self.prompts:
            raise ValueError("prompts.class is missing: every set needs one prompt per class")
        for name, text in self.prompts.items():
            if _is_method_table(name, text):
                for role in self._roles_in(text):
                    self._expand(text[role], role, f"prompts.{name}.{role}")
            elif name not in _ABOUT:
                self._expand(text, name, f"prompts.{name}")
        return self

    @property
    def methods(self) -> list[str]:
        """Methods that have text of their own."""
        return [name for name, text in self.prompts.items() if _is_method_table(name, text)]

    def text_for(self, method: str | None = None) -> dict[str, Any]:
        """Return {role: nested list of prompts} as `method` reads it. A leaf is a text or {"variants": [texts]}."""
        own = self.prompts.get(method, {}) if method and method in self.methods else {}
        common = {name: text for name, text in self.prompts.items() if not _is_method_table(name, text)}
        merged = {**common, **own}
        return {role: self._expand(merged[role], role, f"prompts.{role}") for role in self._roles_in(merged)}

    def all_prompts(self) -> list[str]:
        """Return every prompt of the set once, in order of appearance."""
        texts = [self.text_for(method) for method in [None, *self.methods]]
        return list(dict.fromkeys(prompt for text in texts for value in text.values() for prompt in leaves(value)))

    def _roles_in(self, text: Mapping[str, Any]) -> list[str]:
        return [role for role in text if role not in _ABOUT]

    def _expand(self, text: Any, role: str, where: str) -> Any:
        expanded = self._written_out(text, where) if isinstance(text, str) else text
        shape = _shape(expanded, where)
        sizes = {
            "class": (len(self.classes),),
            "attribute": (len(self.attributes),),
            "group": (len(self.classes), len(self.attributes)),
        }
        if role in sizes and shape != sizes[role]:
            wanted = " x ".join(map(str, sizes[role]))
            raise ValueError(f"{where} has {' x '.join(map(str, shape)) or 'a single'} prompts, expected {wanted}")
        return expanded

    def _written_out(self, template: str, where: str) -> Any:
        used = {match[1] for match in _PLACEHOLDER.findall(template)}
        if used == {"class", "attribute"}:
            return [[_fill(template, word, other) for other in self.attributes] for word in self.classes]
        if used == {"class"}:
            return [_fill(template, word, "") for word in self.classes]
        if used == {"attribute"}:
            return [_fill(template, "", word) for word in self.attributes]
        raise ValueError(f"{where}: a single text must be a template with {{class}} or {{attribute}}")


def leaves(text: Any) -> Iterator[str]:
    """Yield every prompt of a nested list, variants one by one."""
    if isinstance(text, str):
        yield text
    elif isinstance(text, Mapping):
        yield from text["variants"]
    else:
        for part in text:
            yield from leaves(part)


def _is_method_table(name: str, text: Any) -> bool:
    return isinstance(text, Mapping) and name not in COMMON_ROLES and "variants" not in text


def _fill(template: str, class_word: str, attribute_word: str) -> str:
    words = {"class": class_word, "attribute": attribute_word}

    def word(match: re.Match[str]) -> str:
        chosen = words[match.group(2)]
        article = ("an " if chosen[:1].lower() in "aeiou" else "a ") if match.group(1) else ""
        return article + chosen

    return _PLACEHOLDER.sub(word, template)


def _shape(text: Any, where: str) -> tuple[int, ...]:
    """Return the shape of a nested list of prompts; `ValueError` when it is ragged, empty or no list of prompts."""
    if isinstance(text, str):
        if not text.strip():
            raise ValueError(f"{where} has an empty prompt")
        return ()
    if isinstance(text, Mapping):
        variants = text.get("variants")
        if set(text) != {"variants"} or not isinstance(variants, list) or not variants:
            raise ValueError(f"{where}: expected {type_of_text}")
        for variant in variants:
            if not isinstance(variant, str) or not variant.strip():
                raise ValueError(f"{where}: every variant must be a text")
        return ()
    if not isinstance(text, list) or not text:
        raise ValueError(f"{where}: expected {type_of_text}")
    shapes = {_shape(part, where) for part in text}
    if len(shapes) != 1:
        raise ValueError(f"{where}: the lists inside must all have the same length")
    return (len(text), *shapes.pop())
