"""Parameters read and set by name, as scikit-learn's `clone` and searches expect."""

import inspect
from typing import Any, Self


class Parameters:
    """An estimator whose parameters are the arguments of its `__init__`, kept untouched under their names."""

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Names of the parameters, in order."""
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name."""
        for name, value in parameters.items():
            if name not in self.parameter_names():
                known = ", ".join(self.parameter_names())
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: it has {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = ", ".join(
            f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default
        )
        return f"{type(self).__name__}({changed})"
