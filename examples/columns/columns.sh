#!/bin/sh
# Bank conflicts, seen and mended, without a card: the counters of an emulated MI300X before and after.
#   examples/columns/columns.sh [TARGET]      (KILN: the kiln program, default build/bin/kiln)
#
# 1. A tile of 32 columns of 4-byte elements, read by column: every lane of a column hits one bank. Rows of 33 elements
#    (pad:4) do not conflict: the rule that everybody knows.
# 2. The operand of a matrix instruction, read 16 bytes a lane: padding by one element (pad:2 for f16) still conflicts.
#    Kiln counts instead of guessing; its own choice (auto) is a swizzle that does.
set -eu
cd "$(dirname "$0")/../.."
kiln=${KILN:-build/bin/kiln}
target=${1:-gfx942}

row() {  # title program layouts -- bindings
  title=$1 program=$2 layouts=$3
  shift 4
  "$kiln" --json profile "$program" --device "emu:$target" --set "$@" --layout $layouts |
    python3 -c 'import json, sys
report, title = json.load(sys.stdin), sys.argv[1]
c = report["counters"]
print("%-34s %14d %12d   %s" % (title, c["SQ_LDS_BANK_CONFLICT"], c["SQ_LDS_IDX_ACTIVE"], report["advice"][0]["text"] if report["advice"] else "-"))' "$title"
}

printf '%-34s %14s %12s   %s\n' "$target" "conflict cycles" "LDS cycles" "advice"
for layout in row_major pad:4 auto; do
  row "columns of f32[32,32], $layout" examples/columns/columns.json "tile=$layout" -- M=256 N=256
done
for layout in row_major pad:2 pad:16 auto; do
  row "gemm operands, $layout" gemm "As=$layout Bs=$layout" -- M=512 N=512 K=512 dtype=f16
done
