#pragma once
// How many copies of a rank's state its memory has room for. Each copy has a slot (memory_area.h);
// every slot costs as much memory as the rank's state. The agent holds up to two of a rank
// (agent/copies/round_part.h), and a transfer carries at most kBulkCopiesMax (wire/bulk/request.h,
// docs/formats/bulk.md).
//
// Python asks for two slots (python/robustrun/_checkpoint/memory_copies.py). area_shape() tells
// from a length whether there is a board, for which both numbers of slots must be even; and
// agent/copies/held_copies.cpp chooses between two slots. Texts that say two:
// docs/formats/memory-copy.md and worker-socket.md, docs/checkpoints.md, the docstrings of
// python/robustrun/checkpoint.py and dcp.py, and c_api/memory.h.

#include <cstddef>

namespace robustrun::checkpoint {

// Without a board: the newest complete copy, and the next one while it is filled.
inline constexpr std::size_t kCopiesWithoutBoard = 2;
// With a board (hold_board.h) the agent may also hold two complete copies.
inline constexpr std::size_t kCopiesWithBoard = 4;
inline constexpr std::size_t kCopiesMax = kCopiesWithBoard;

}  // namespace robustrun::checkpoint
