"""Generated arguments, and comparison with a reference in NumPy."""

from __future__ import annotations

from typing import Any, Dict, List

from ._arguments import to_numpy


def generated(tensors: List[Dict[str, Any]], program: Any, bindings: Dict[str, Any], seed: int = 0) -> Dict[str, Any]:
    """Seeded arguments: normals, integers from -8 to 8, zeros for what is only written, 1 for scalars."""
    import numpy

    from .._arrays import _NUMPY

    values: Dict[str, Any] = {}
    for number, tensor in enumerate(tensors):
        name, dtype = program.arguments[tensor["name"]], tensor["dtype"]
        param = program.params.get(tensor["name"])
        if param is None:
            values[name] = 1
            continue
        shape = [n if isinstance(n, int) else int(bindings[str(n)]) for n in param.shape]
        generator = numpy.random.default_rng((seed, number))
        if tensor["access"] == "write":
            values[name] = numpy.zeros(shape, _NUMPY[dtype])
        elif dtype == "bf16":
            bits = generator.standard_normal(shape).astype("float32").view("uint32")
            values[name] = ((bits + 0x8000) >> 16).astype("uint16")
        elif dtype in ("f16", "f32", "f64"):
            values[name] = generator.standard_normal(shape).astype(_NUMPY[dtype])
        elif dtype == "bool":
            values[name] = generator.integers(0, 2, shape).astype(bool)
        else:
            low = 0 if dtype.startswith("u") else -8
            values[name] = generator.integers(low, 9, shape).astype(_NUMPY[dtype])
    return values


def as_floats(array: Any, dtype: str) -> Any:
    """An array's values as f64; bf16 from its bits."""
    import numpy

    if dtype == "bf16":
        return (numpy.asarray(array).astype("uint32") << 16).view("float32").astype("float64")
    return numpy.asarray(array, dtype="float64")


_SUMS = 1e-4  # share of a value that sums in another order, and a reference in f32, may differ by
_UNIT = {"f16": 2.0 ** -11, "bf16": 2.0 ** -8, "f32": 2.0 ** -24, "f64": 2.0 ** -53}


def against(compiled: Any, reference: Any, values: Dict[str, Any]) -> Dict[str, Any]:
    """Runs it and compares what it wrote with ``reference(*inputs)``."""
    import numpy

    program, tensors = compiled._program, compiled._loaded.info["tensors"]
    inputs = [_copied(values[program.arguments[t["name"]]]) for t in tensors if t["access"] != "write"]
    compiled.run(values)
    wanted = reference(*inputs)
    written = [t for t in tensors if t["access"] != "read"]
    wanted = list(wanted) if isinstance(wanted, (tuple, list)) else [wanted]
    if len(wanted) != len(written):
        raise ValueError("the reference gave %d arrays for %d that are written" % (len(wanted), len(written)))
    rows = []
    for tensor, right in zip(written, wanted):
        found = as_floats(to_numpy(values[program.arguments[tensor["name"]]]), tensor["dtype"])
        right = numpy.asarray(right, dtype="float64")
        if right.shape != found.shape:
            raise ValueError("the reference's array for %s has shape %s, and the kernel's %s" % (
                tensor["name"], list(right.shape), list(found.shape)))
        unit = _UNIT.get(tensor["dtype"], 0)
        tolerance = 4 * unit * numpy.maximum(1, numpy.abs(right)) + (_SUMS * numpy.maximum(1, numpy.abs(right)) if unit else 0)
        error = numpy.abs(found - right)
        bad = ~(error <= tolerance) & ~(numpy.isnan(found) & numpy.isnan(right)) & (found != right)
        rows.append({"name": tensor["name"], "error_max": float(numpy.nanmax(error)) if error.size else 0.0, "wrong": int(bad.sum()),
                     "elements": int(found.size)})
    return {"passed": all(r["wrong"] == 0 for r in rows), "tensors": rows}


def _copied(value: Any) -> Any:
    import numpy

    view = to_numpy(value)
    return value if view is None else numpy.array(view)
