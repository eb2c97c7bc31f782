#pragma once
// The row "stacks" of the control server's table, for `robustrun top`: what the workers' main
// threads are doing now, with equal stacks together.

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
  std::vector<RankStack> stacks;  // those of most ranks first
  std::vector<std::uint32_t> unseen;  // ranks without a stack, ascending
  // Why these ranks have no stack, as their nodes report, at most kStackReasonsMax reasons:
  // "py-spy: not installed".
  std::vector<std::string> missing;
  template <class V>
  void fields(V& v) {
    v(1, "stacks", stacks);
    v(2, "unseen", unseen);
    v(3, "missing", missing);
  }
};
// The stacks in the evidence of the ranks in `fleet`.
[[nodiscard]] WorkerStacks stacks_of(const tracer::FleetSnapshot& fleet);

using StacksAnswer = std::function<void(base::Result<WorkerStacks>)>;
// `look` calls its second argument once. Its first argument is the rank to look at; nullopt: all.
using LookAtStacks = std::function<void(std::optional<base::Rank>, StacksAnswer)>;
[[nodiscard]] ControlServer::Row stacks_row(LookAtStacks look);
[[nodiscard]] ControlFields stacks_request(std::optional<base::Rank> rank);
// kCorrupt: an answer of another version.
[[nodiscard]] base::Result<WorkerStacks> read_stacks_answer(const ControlFields& answer);

}  // namespace robustrun::supervisor
