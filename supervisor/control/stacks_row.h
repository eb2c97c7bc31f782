#pragma once
// The row "stacks" of the control server's table: what the workers' main threads are doing now,
// with equal stacks together. `robustrun top` asks for it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "supervisor/control/json.h"
#include "supervisor/control/server.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::supervisor {

// Ranks whose main threads have the same stack.
struct RankStack {
  std::vector<std::uint32_t> ranks;  // ascending
  std::string place;  // "load_batch (train.py:87), data loader"
  bool is_native = false;  // C frames, as there are no Python frames
  std::vector<tracer::Frame> frames;  // innermost first, at most kStackFramesMax
  template <class V>
  void fields(V& v) {
    v(1, "ranks", ranks);
    v(2, "place", place);
    v(3, "is_native", is_native);
    v(4, "frames", frames);
  }
};

struct WorkerStacks {
  std::vector<RankStack> stacks;  // of most ranks first
  std::vector<std::uint32_t> unseen;  // ranks without a stack, ascending
  // Why there are none, as their nodes tell: "py-spy: not installed".
  std::vector<std::string> missing;
  template <class V>
  void fields(V& v) {
    v(1, "stacks", stacks);
    v(2, "unseen", unseen);
    v(3, "missing", missing);
  }
};
// Of the ranks in `fleet`, with evidence.
[[nodiscard]] WorkerStacks stacks_of(const tracer::FleetSnapshot& fleet);

using StacksAnswer = std::function<void(base::Result<WorkerStacks>)>;
// `look` calls its second argument once. No rank: all of them.
using LookAtStacks = std::function<void(std::optional<base::Rank>, StacksAnswer)>;
[[nodiscard]] ControlServer::Row stacks_row(LookAtStacks look);
[[nodiscard]] ControlFields stacks_request(std::optional<base::Rank> rank);
// kCorrupt: an answer of another version.
[[nodiscard]] base::Result<WorkerStacks> read_stacks_answer(const ControlFields& answer);

}  // namespace robustrun::supervisor
