import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_catalog.canonical import canonical, canonical_text, digest_value
from data_catalog.errors import UserError

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_equal_values_have_one_text(value: object) -> None:
    assert canonical_text(value) == canonical_text(canonical(value))


def test_order_of_keys_and_kind_of_sequence_do_not_matter() -> None:
    assert digest_value({"a": 1, "b": (1, 2)}) == digest_value({"b": [1, 2], "a": 1})


def test_an_integral_float_is_the_integer() -> None:
    assert canonical_text({"strength": 10.0}) == canonical_text({"strength": 10})


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, "1"), (None, "None"), (1.5, 1.25), ([], {})])
def test_different_values_have_different_texts(one: object, other: object) -> None:
    assert canonical_text(one) != canonical_text(other)


def test_infinity_has_a_name_of_its_own() -> None:
    assert len({canonical_text(float("inf")), canonical_text(float("-inf")), canonical_text("inf")}) == 3


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"density": {"k": np.arange(3)}}, "params.density.k is of type numpy.ndarray"),
        ({"ks": [1, {2}]}, "params.ks[1] is of type set"),
        ({"f": len}, "params.f is of type builtin_function_or_method"),
        ({"rate": float("nan")}, "params.rate is NaN"),
        ({"n": 16**5000}, "params.n is a number of 20,001 bits"),
        ({"table": {1: 2}}, "params.table has a key that is no text: 1"),
    ],
)
def test_what_cannot_be_hashed_is_named(value: object, named: str) -> None:
    with pytest.raises(UserError, match="params") as caught:
        canonical(value, "params")
    assert named in str(caught.value)
