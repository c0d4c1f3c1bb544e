# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
#   kernelspec:
#     name: python3
# ---

# %% [markdown]
# # The catalog in Python
# The index below `DAT_HOME` is a DuckDB file: any DuckDB opens it, and hands its answers on as pandas or Arrow tables.
# Run `dat run demo` first. This is a script, and a notebook by way of jupytext.

# %%
import os
from pathlib import Path

import duckdb

home = Path(os.environ.get("DAT_HOME", ".dat"))
catalog = duckdb.connect(str(home / "catalog.duckdb"), read_only=True)

# %% [markdown]
# ## pandas: methods down, datasets and backbones across

# %%
results = catalog.sql("SELECT dataset, backbone, method, wg, avg, gap FROM results WHERE variant = ''").df()
worst_group = results.pivot_table(index="method", columns=["dataset", "backbone"], values="wg")
print(worst_group.sort_values(list(worst_group.columns), ascending=False).round(2))

# %% [markdown]
# ## Arrow: the predictions of one method, without a copy for each row

# %%
predictions = catalog.sql(
    "SELECT sample_id, label, attribute, correct FROM predictions WHERE method = 'zero_shot' AND variant = ''"
).to_arrow_table()
print(predictions.schema)
print(predictions.group_by(["label", "attribute"]).aggregate([("correct", "mean"), ("correct", "count")]).to_pandas())

# %% [markdown]
# ## An artifact is a Parquet file: here are the reference samples behind DAT

# %%
paths = catalog.sql("SELECT path FROM artifacts WHERE step = 'references' AND current LIMIT 1").fetchall()
for (path,) in paths:
    print(duckdb.read_parquet(str(home / path)).limit(5).df())

# %%
catalog.close()
