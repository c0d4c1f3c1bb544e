"""One check of the paper's theory, on groups drawn from Kent distributions."""

from dat_lib.theory.registry import checks
from tasks.step import Output, Work
from tasks.tables.result_table import result_table


def compute(work: Work) -> Output:
    """Return the check's rows; the summary counts those of which a claim holds."""
    params = work.params
    check = checks()[params["check"]]
    table = result_table(check.function(**params["settings"], seed=params["seed"]))
    # A word of SQL, which every question would have to quote.
    table = table.rename_columns(["group_index" if name == "group" else name for name in table.column_names])
    claims = {name: sum(table.column(name).to_pylist()) for name in check.claims if name in table.column_names}
    return Output(table, {"rows": table.num_rows, "claims": claims})
