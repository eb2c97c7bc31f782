#pragma once
// Whether a checkpoint that a trainer wrote, a file or a folder, is whole.
//
// These marks of the formats decide:
//   HF Trainer    trainer_state.json is written after all else of rank 0; an index lists the shards
//   DCP           .metadata is written after all *.distcp, also in a folder of the checkpoint
//   accelerate    random_states_0.pkl is written last by rank 0
//   files         file_marks.h, for names that end in .safetensors, .pt, .pth, .ckpt, .bin, .pkl
// A folder without marks and without flaws is kUnknown. Symbolic links are neither followed nor
// judged. Blocks as long as the file system does.

#include <cstdint>
#include <set>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::agent {

// Distinguishes two states of a checkpoint, without comparing clocks.
struct EntryStamp {
  base::Nanos changed{};  // the newest change of a file or folder, by the file system's clock
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const EntryStamp&, const EntryStamp&) = default;
};

struct EntryLook {
  enum class State : std::uint8_t { kWhole, kHalfWritten, kUnknown };
  State state = State::kUnknown;
  std::string why{};  // of kHalfWritten: "no trainer_state.json"
  std::set<std::string> marks{};  // whole files that the format writes last
  EntryStamp stamp{};
  bool is_folder = false;
};

// Looks at `name` in the open folder `parent`. Fails with the cause's errno (ENOENT: the checkpoint
// is gone). kInvalidArgument: it is neither a regular file nor a folder.
[[nodiscard]] base::Result<EntryLook> look_at_entry(int parent, const std::string& name);

}  // namespace robustrun::agent
