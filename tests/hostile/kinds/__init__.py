"""What users bring, one class each."""

from tests.hostile.kinds.archives import Archives
from tests.hostile.kinds.embeddings import Embeddings, Names, Prompts
from tests.hostile.kinds.homes import Homes
from tests.hostile.kinds.images import Images, Tables
from tests.hostile.kinds.kind import Kind
from tests.hostile.kinds.models import Models
from tests.hostile.kinds.questions import Questions
from tests.hostile.kinds.specs import Specs
from tests.hostile.kinds.stores import Stores
from tests.hostile.kinds.words import WordNets

KINDS: dict[str, Kind] = {
    kind.name: kind()
    for kind in (
        Specs,
        Prompts,
        Embeddings,
        Tables,
        Images,
        Models,
        Stores,
        Archives,
        Questions,
        Names,
        WordNets,
        Homes,
    )
}
