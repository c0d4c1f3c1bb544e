from .metrics import GroupAccuracy as GroupAccuracy
from .metrics import GroupMetrics as GroupMetrics
from .metrics import group_metrics as group_metrics
from .simulation import SimulatedWorld as SimulatedWorld
from .simulation import simulate as simulate

__all__ = ["GroupAccuracy", "GroupMetrics", "SimulatedWorld", "group_metrics", "simulate"]
