"""A transpose through shared memory, before and after its rows are padded by one element.

    kiln compare examples/authors/padding.py:plain examples/authors/padding.py:padded --device emu:gfx942
"""
import kiln.language as tl

N = 1024
TILE = 32


@tl.kernel
def plain(X: tl.Buffer[N, N, tl.float32], Y: tl.Buffer[N, N, tl.float32]):
    i, j = tl.program_id(0), tl.program_id(1)
    layout = tl.make_block_layout(shape=(32, 32), order=(1, 0), origin=(0, 0))
    tile = tl.alloc_shared([TILE, TILE], layout=layout)
    tile[:, :] = X[i * TILE:(i + 1) * TILE, j * TILE:(j + 1) * TILE]
    tl.sync_threads()
    Y[j * TILE:(j + 1) * TILE, i * TILE:(i + 1) * TILE] = tl.transpose(tile)


@tl.kernel
def padded(X: tl.Buffer[N, N, tl.float32], Y: tl.Buffer[N, N, tl.float32]):
    i, j = tl.program_id(0), tl.program_id(1)
    layout = tl.make_block_layout(shape=(32, 33), order=(1, 0), origin=(0, 0))
    tile = tl.alloc_shared([TILE, TILE], layout=layout)
    tile[:, :] = X[i * TILE:(i + 1) * TILE, j * TILE:(j + 1) * TILE]
    tl.sync_threads()
    Y[j * TILE:(j + 1) * TILE, i * TILE:(i + 1) * TILE] = tl.transpose(tile)
