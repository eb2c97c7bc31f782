#pragma once
// Interprets the error message of a dead rank. Some libraries end a process at the first unexpected
// message, so the text may be the only trace of the rank's last call. Pure.

#include <optional>
#include <string_view>
#include <vector>

#include "base/core/ids.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

// A mismatch (rule R6 of docs/diagnosis.md) in a job of two ranks. gloo reports how many bytes
// arrived and how many it had room for (transport/tcp/pair.cc, "op.preamble.length <= op.nbytes.
// 128 vs 64"). Two ranks have no majority, so the verdict has both sides and no culprit. `ranks`:
// all ranks of the job, with their nodes; with more than two ranks the sender is unknown, and the
// result is nullopt. `dead`: the rank that wrote `words`.
[[nodiscard]] std::optional<Verdict> mismatch_in_words(const std::vector<RankSnapshot>& ranks,
                                                       base::Rank dead, std::string_view words);

}  // namespace robustrun::tracer
