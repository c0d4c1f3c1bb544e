"""Errors that a person can mend."""


class UserError(Exception):
    """Something the user can mend: what is wrong, where it is, and the command or edit that helps."""

    def __init__(self, problem: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{text}\n  {self.remedy}" if self.remedy else text


class StoreError(UserError):
    """The place where state lives cannot take or give it: full disk, no permission, no such folder."""


class DamagedError(UserError):
    """A file of the store is not what its manifest says: `step` and `key` name the artifact."""

    def __init__(self, problem: str, *, step: str, key: str, where: str) -> None:
        super().__init__(problem, where=where, remedy="`dat verify` sets damaged files aside; `dat run` heals")
        self.step = step
        self.key = key
