#pragma once
// How many copies of a rank's state its memory has room for. Each copy has a slot (memory_area.h),
// which takes as much memory as the rank's state.
//
// Other code depends on these numbers: python/robustrun/_checkpoint/memory_copies.py asks for two
// slots; area_shape() needs even numbers of slots, to tell from a length whether there is a board;
// agent/copies/held_copies.cpp chooses between two slots. These texts say "two":
// docs/formats/memory-copy.md and worker-socket.md, docs/checkpoints.md, the docstrings of
// python/robustrun/checkpoint.py and dcp.py, and c_api/memory.h.

#include <cstddef>

namespace robustrun::checkpoint {

// Without a board: the newest complete copy, and the one that is being filled.
inline constexpr std::size_t kCopiesWithoutBoard = 2;
// With a board (hold_board.h): the agent may hold two complete copies in addition.
inline constexpr std::size_t kCopiesWithBoard = 4;
inline constexpr std::size_t kCopiesMax = kCopiesWithBoard;

}  // namespace robustrun::checkpoint
