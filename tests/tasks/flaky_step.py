"""A step that fails as often as a file says, in a way that a retry may or may not mend."""

from pathlib import Path

import pyarrow as pa

from tasks.step import Output, Work


def compute(work: Work) -> Output:
    left = Path(work.resources["failures"])
    count = int(left.read_text())
    if count:
        left.write_text(str(count - 1))
        raise {"connection": ConnectionError, "value": ValueError}[work.params["kind"]]("the network is down")
    return Output(pa.table({"number": [1]}))
