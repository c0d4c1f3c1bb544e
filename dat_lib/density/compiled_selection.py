"""The k nearest in each column of many small tables, compiled for the processor at hand.

The values of a few columns stay in registers through a whole network, which takes a tenth of the time that whole rows
take on their way through the cache. The results have the same bits: comparisons are exact, and weights are added in
the order of `sum_by_halves`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dat_lib.density.networks import selection_network
from dat_lib.density.selection import Nearest

if TYPE_CHECKING:
    import torch
    from llvmlite import ir

VECTOR_BYTES = 64
"""Columns are taken as many at a time as this holds numbers: the widest registers there are."""


@cache
def can_compile() -> bool:
    """Whether the system lets programs run what they have compiled themselves; hardened ones may not."""
    import llvmlite.binding as llvm

    try:
        llvm.check_jit_execution()
    except OSError:
        return False
    return True


class CompiledSelection:
    """Selection in tables [g, rows, b] of float32 or float64 in the processor's memory; b must fill whole vectors.

    Compiling takes tenths of a second for 50 rows and seconds for 256, once in a process for the same arguments.
    Threads may share it.
    """

    def __init__(self, rows: int, ks: Sequence[int], dtype: torch.dtype, *, weighted: bool) -> None:
        self._rows, self._ks, self._dtype, self._weighted = rows, tuple(ks), dtype, weighted
        self._lanes = VECTOR_BYTES // dtype.itemsize
        self._select = _compiled(rows, self._ks, dtype.itemsize, weighted)

    def __call__(self, values: torch.Tensor, weights: torch.Tensor | None) -> Nearest:
        """Select in each column of values [g, rows, b]; weights are [g, len(ks), rows]."""
        import torch

        tables, _, columns = values.shape
        for given, shape in ((values, (tables, self._rows, columns)), (weights, (tables, len(self._ks), self._rows))):
            # Machine code would read on where an array ends, and asks nothing.
            if given is not None and not (
                given.shape == shape and given.dtype == self._dtype and given.is_contiguous() and given.is_cpu
            ):
                raise ValueError(
                    f"an array is {given.dtype} {tuple(given.shape)} where {self._dtype} {shape} is needed"
                )
        if columns % self._lanes or (weights is not None) != self._weighted:
            raise ValueError(f"{columns} columns do not fill vectors of {self._lanes}, or weights are not as agreed")
        found = torch.empty(2 + self._weighted, len(self._ks), tables, columns, dtype=self._dtype)
        if found.numel():
            start = None if weights is None else weights.data_ptr()
            self._select(values.data_ptr(), start, found.data_ptr(), tables, columns)
        return Nearest(found[0], found[1], found[2] if self._weighted else None)


@lru_cache(maxsize=64)
def _compiled(rows: int, ks: tuple[int, ...], number_bytes: int, weighted: bool) -> Callable[..., None]:
    """What `_program` says, as a function of machine code, which other threads run beside."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    module = llvm.parse_assembly(str(_program(rows, ks, number_bytes, weighted)))
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)
    function: Any = signature(engine.get_function_address("select"))
    function.engine = engine  # which owns the machine code
    select: Callable[..., None] = function
    return select


def _program(rows: int, ks: tuple[int, ...], number_bytes: int, weighted: bool) -> ir.Module:
    """`select(values, weights, found, tables, columns)`.

    From values [tables, rows, columns] and weights [tables, len(ks), rows] to found [3, len(ks), tables, columns]: the
    k-th values, those that follow and the sums of weights; the last are left out where there are no weights.
    """
    from llvmlite import ir

    number = ir.FloatType() if number_bytes == ctypes.sizeof(ctypes.c_float) else ir.DoubleType()
    lanes = VECTOR_BYTES // number_bytes
    vector, count, pointer = ir.VectorType(number, lanes), ir.IntType(64), ir.PointerType()
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [*[pointer] * 3, *[count] * 2]), "select")
    values, weights, found, tables, columns = function.args
    found.add_attribute("noalias")
    build = ir.IRBuilder(function.append_basic_block())

    def place(array: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
        return build.gep(array, [build.add(build.mul(row, columns), column)], source_etype=number)

    def read(row: ir.Value, column: ir.Value) -> ir.Value:
        return build.load(place(values, row, column), typ=vector, align=number_bytes)

    def in_all_lanes(scalar: ir.Value) -> ir.Value:
        undefined, first = ir.Constant(vector, ir.Undefined), ir.IntType(32)(0)
        one = build.insert_element(undefined, scalar, first)
        return build.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))

    with _loop(build, tables, 1) as table, _loop(build, columns, lanes) as column:
        table_rows = [build.add(build.mul(table, count(rows)), count(row)) for row in range(rows)]
        ordered = [read(row, column) for row in table_rows]
        ranks = tuple(sorted({rank for k in ks for rank in (k - 1, k)}))
        for low, high, _, _ in selection_network(rows, ranks):
            first, second = ordered[low], ordered[high]
            is_less = build.fcmp_ordered("<", first, second)
            ordered[low] = build.select(is_less, first, second)
            ordered[high] = build.select(is_less, second, first)

        def write(what: int, which: int, value: ir.Value) -> None:
            row = build.add(build.mul(tables, count(what * len(ks) + which)), table)
            build.store(value, place(found, row, column), align=number_bytes)

        for which, k in enumerate(ks):
            write(0, which, ordered[k - 1])
            write(1, which, ordered[k])
        for which, k in enumerate(ks if weighted else ()):
            first_weight = build.mul(build.add(build.mul(table, count(len(ks))), count(which)), count(rows))
            terms = []
            for row in range(rows):
                at = build.gep(weights, [build.add(first_weight, count(row))], source_etype=number)
                weight = in_all_lanes(build.load(at, typ=number, align=number_bytes))
                is_near = build.fcmp_ordered("<=", read(table_rows[row], column), ordered[k - 1])
                terms.append(build.select(is_near, weight, ir.Constant(vector, [0.0] * lanes)))
            while len(terms) > 1:
                half = len(terms) // 2
                kept, added = terms[:-half], terms[-half:]
                terms = [build.fadd(*both) for both in zip(kept, added, strict=False)] + kept[half:]
            write(2, which, terms[0])
    build.ret_void()
    return module


@contextmanager
def _loop(build: ir.IRBuilder, stop: ir.Value, step: int) -> Iterator[ir.Value]:
    """Build a loop around what is built in the body: for 0, step, 2 step, ... below `stop`, which is above 0."""
    before, body = build.block, build.append_basic_block()
    build.branch(body)
    build.position_at_end(body)
    index = build.phi(stop.type)
    index.add_incoming(stop.type(0), before)
    yield index
    following = build.add(index, stop.type(step))
    index.add_incoming(following, build.block)
    after = build.append_basic_block()
    build.cbranch(build.icmp_signed("<", following, stop), body, after)
    build.position_at_end(after)
