from .attributes import InferredAttributes as InferredAttributes
from .attributes import infer_attributes as infer_attributes
from .bootstrap import BootstrapMetrics as BootstrapMetrics
from .bootstrap import PairedBootstrap as PairedBootstrap
from .bootstrap import bootstrap_metrics as bootstrap_metrics
from .bootstrap import paired_bootstrap as paired_bootstrap
from .density.densities import GroupDensity as GroupDensity
from .density.densities import dao as dao
from .density.densities import knn_distance as knn_distance
from .density.densities import slof as slof
from .density.reference_density import ReferenceDensity as ReferenceDensity
from .estimator import DAT as DAT
from .estimator import DATStar as DATStar
from .estimator import DroppedGroupWarning as DroppedGroupWarning
from .herding import herd as herd
from .metrics import GroupAccuracy as GroupAccuracy
from .metrics import GroupMetrics as GroupMetrics
from .metrics import group_metrics as group_metrics
from .references import DroppedGroup as DroppedGroup
from .references import GroupReferences as GroupReferences
from .references import corrupt_groups as corrupt_groups
from .references import corrupt_references as corrupt_references
from .references import select_references as select_references
from .toyworld.simulation import SimulatedWorld as SimulatedWorld
from .toyworld.simulation import simulate as simulate
from .translation import Similarities as Similarities
from .translation import similarities as similarities
from .translation import sweep as sweep
from .translation import translate as translate

__all__ = [
    "DAT",
    "BootstrapMetrics",
    "DATStar",
    "DroppedGroup",
    "DroppedGroupWarning",
    "GroupAccuracy",
    "GroupDensity",
    "GroupMetrics",
    "GroupReferences",
    "InferredAttributes",
    "PairedBootstrap",
    "ReferenceDensity",
    "Similarities",
    "SimulatedWorld",
    "bootstrap_metrics",
    "corrupt_groups",
    "corrupt_references",
    "dao",
    "group_metrics",
    "herd",
    "infer_attributes",
    "knn_distance",
    "paired_bootstrap",
    "select_references",
    "similarities",
    "simulate",
    "slof",
    "sweep",
    "translate",
]
