#pragma once
// What the last words of a dead rank say about the others: for libraries that end a process at the
// first surprise, so that nothing else is left of what it called. Pure.

#include <optional>
#include <string_view>
#include <vector>

#include "base/core/ids.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::tracer {

// A mismatch (R6) of two ranks that are a whole job: gloo says how many bytes came and how many it
// had room for (transport/tcp/pair.cc, "op.preamble.length <= op.nbytes. 128 vs 64"). Nobody is the
// majority of two, so the verdict has both sides and no culprit. `ranks`: all of the job, with
// their places; of more than two it is not known who had sent it.
[[nodiscard]] std::optional<Verdict> mismatch_in_words(const std::vector<RankSnapshot>& ranks,
                                                       base::Rank dead, std::string_view words);

}  // namespace robustrun::tracer
