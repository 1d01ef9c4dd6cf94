"""Names of TileLang that have no meaning here: using one is an error at its line that says what to do instead."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from ..language._arithmetic import Mistake
from ..language._operations import OPERATIONS
from ._functions import Operation

_THREADS = (
    "code for one thread",
    "say what the block does: T.Parallel for elements, T.copy, T.gemm and T.reduce_* for tiles",
)
_BARRIER = (
    "barriers by hand",
    "leave them out: barriers are placed where they are needed, and T.Pipelined fetches ahead",
)
_ASYNC = (
    "copies whose end is waited for by hand",
    "T.copy inside T.Pipelined(…, num_stages=2): lowering fetches ahead",
)
_WAVES = ("specialization of warps by hand", "write the loop with T.Pipelined; lowering splits the work of the waves")
_MATRIX = ("matrix instructions by hand", "T.gemm on tiles: lowering chooses the instruction")
_SHUFFLE = ("exchange between lanes", "T.reduce_sum and its kin on a tile")
_TEXT = (
    "text of another language inside a kernel",
    "write it with T's operations, or compile the file with kiln emulate",
)
_ADDRESS = ("addresses of memory", "index the tensor: A[i, j]; T.view gives another shape")
_GRID = ("waiting for other blocks", "several T.Kernel in one function are launches in order")
_SPARSE = ("sparse products", "T.gemm on the dense tiles")
_RANDOM = ("random numbers inside a kernel", "pass them as a tensor")
_REDUCER = ("a reducer", "T.reduce_sum on a fragment that the T.Parallel loop fills")
_LEAVE = ("leaving a loop early", "give the loop its true bound, or put the rest under an if")
_BITS = ("a reduction by bits", "T.reduce_max, or a loop over the axis in T.Parallel")

_NAMES = (
    (
        _THREADS,
        """get_thread_binding get_thread_bindings thread_binding get_lane_idx get_warp_idx get_warp_idx_sync
                  get_warp_group_idx launch_thread""",
    ),
    (
        _BARRIER,
        """alloc_barrier alloc_cluster_barrier mbarrier_wait_parity mbarrier_arrive mbarrier_expect_tx
                  mbarrier_arrive_expect_tx barrier_wait barrier_arrive named_barrier_arrive fence_proxy_async
                  warpgroup_arrive warpgroup_commit_batch warpgroup_wait wait_wgmma warpgroup_fence_operand
                  cp_async_barrier_noinc create_list_of_mbarrier sync_global""",
    ),
    (
        _ASYNC,
        """tma_copy tma_gather4 tma_scatter4 tma_store_arrive tma_store_wait tma_load tma_store ptx_cp_async
                ptx_wait_group ptx_commit_group copy_cluster create_tma_descriptor alloc_descriptor""",
    ),
    (
        _WAVES,
        """ws set_max_nreg inc_max_nreg dec_max_nreg annotate_producer_reg_dealloc annotate_consumer_reg_alloc ws_op
                annotate_ws_schedule WSSchedule WSPipeline WSRole WSScope WSSync WSID WarpSpecialize""",
    ),
    (
        _MATRIX,
        """wgmma_gemm tcgen05_gemm tcgen05_gemm_blockscaled tcgen05_mma_arrive tcgen05_cp_warpx4
                 tcgen05_sf_warp_transpose mma_gemm_blockscaled alloc_tmem ptx_mma ptx_ldmatrix mma_store mma_fill
                 tvm_mfma tvm_mfma_store dp4a alloc_wgmma_desc""",
    ),
    (
        _SHUFFLE,
        """shfl_xor shfl_down shfl_up shfl_sync tvm_warp_shuffle tvm_thread_allreduce any_sync all_sync ballot
                  warp_reduce_sum warp_reduce_max warp_reduce_min comm_reducer shuffle_elect""",
    ),
    (_TEXT, "call_extern import_source call_pure_extern CUDASourceCodeKernel evaluate attr call_intrin"),
    (_ADDRESS, "access_ptr address_of ptr make_tensor make_tensor_from_addr tvm_access_ptr"),
    (
        _GRID,
        """sync_grid ClusterKernel block_rank_in_cluster cluster_sync PersistentTileScheduler clc_try_cancel_multicast
               clc_is_canceled clc_get_first_ctaid_x atomic_load atomic_store""",
    ),
    (_SPARSE, "gemm_sp gemm_sp_v2"),
    (_RANDOM, "rng_init rng_rand rng_rand_float"),
    (_REDUCER, "alloc_reducer finalize_reducer reducer_init reducer_update"),
    (_LEAVE, "loop_break"),
    (_BITS, "reduce_bitand reduce_bitor reduce_bitxor"),
)

ABSENT: Dict[str, Tuple[str, str]] = {name: said for said, names in _NAMES for name in names.split()}


def _stub(name: str, said: Tuple[str, str]) -> Operation:
    def function(*args: Any, **kwargs: Any) -> None:
        pass

    def refuse(reader: Any, *args: Any, **kwargs: Any) -> None:
        raise Mistake("T.%s: %s has no meaning here" % (name, said[0]), said[1])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "No meaning here: %s. Instead: %s." % said
    OPERATIONS["T." + name] = refuse
    return Operation(function, "T." + name)


_made: Dict[str, Callable[..., Any]] = {name: _stub(name, said) for name, said in ABSENT.items()}
globals().update(_made)
__all__: List[str] = sorted(ABSENT)
