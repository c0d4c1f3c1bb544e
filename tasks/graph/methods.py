"""Methods by their names, with errors that a person can mend."""

from collections.abc import Mapping
from typing import Any

from dat_lib.methods.registry import make_method, method_names
from dat_lib.methods.support.contract import Method, text_role
from data_catalog.errors import UserError
from data_catalog.specs.collection import unknown


def known_methods() -> list[str]:
    """Return the names of all methods; a `UserError` when somebody's method cannot be registered."""
    try:
        return method_names()
    except ValueError as error:
        raise UserError(str(error), where="methods") from error


def check_method(name: str) -> None:
    """Raise a `UserError` when there is no such method."""
    if name not in known_methods():
        raise unknown("method", name, known_methods(), "dat ls methods")


def method_with(name: str, settings: Mapping[str, Any], where: str | None = None) -> Method:
    """Return a method with these settings; a `UserError` at `where` when it does not take them."""
    check_method(name)
    try:
        return make_method(name, settings)
    except ValueError as error:
        raise UserError(str(error), where=where) from error


def missing_text(method: Method, roles: Mapping[str, Any]) -> list[str]:
    """Return the roles of prompts that a method reads and a prompt set does not have."""
    return [role for role in method.needs.in_full().text if text_role(role, roles) is None]
