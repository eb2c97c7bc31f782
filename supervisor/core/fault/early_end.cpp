#include "supervisor/core/fault/early_end.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/core/text.h"
#include "base/core/words.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kOperationBytesMax = 40;

// "rank 1", "ranks 1, 2 and 5 more"
std::string ranks_in_words(std::vector<base::Rank> ranks) {
  std::ranges::sort(ranks);
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  const std::size_t shown = std::min(ranks.size(), kRanksSaid);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i > 0 && i + 1 == ranks.size();
    text += fmt::format("{} {}", i == 0 ? "" : is_last ? " and" : ",", ranks[i].value);
  }
  if (ranks.size() > shown) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

// " at step 100"; empty when they ended at different ones, or it is not known.
std::string step_in_words(const std::vector<EarlyEnd>& ended) {
  const EarlyEnd& first = ended.front();
  const bool agree = std::ranges::all_of(ended, [&](const EarlyEnd& one) {
    return one.step == first.step && one.steps == first.steps;
  });
  if (!agree) return "";
  if (first.step) return fmt::format(" at step {}", *first.step);
  if (first.steps == 0) return "";
  return " after " + base::counted(first.steps, "step");
}

}  // namespace

std::string in_words(const std::vector<EarlyEnd>& ended, const std::vector<base::Rank>& waiting,
                     const std::string& operation) {
  std::vector<base::Rank> ranks;
  for (const EarlyEnd& one : ended) ranks.push_back(one.rank);
  const char* const for_whom = ended.size() == 1 ? "for it" : "for them";
  return fmt::format("{} ended with 0{} while {} waited {}", ranks_in_words(ranks),
                     step_in_words(ended),
                     waiting.empty() ? std::string("others") : ranks_in_words(waiting),
                     operation.empty() ? std::string(for_whom) : "in " + operation);
}

std::string operation_in_traceback(const WorkerExited& exited) {
  constexpr std::string_view kFile = "torch/distributed/distributed_c10d.py\", line ";
  constexpr std::string_view kIn = ", in ";
  for (auto line = exited.stderr_tail.rbegin(); line != exited.stderr_tail.rend(); ++line) {
    const std::string_view text = std::string_view(*line).substr(0, kFaultLineBytesMax);
    const std::size_t file = text.find(kFile);
    const std::size_t in = file == text.npos ? text.npos : text.find(kIn, file);
    if (in == text.npos) continue;
    const std::string_view name = base::trim(text.substr(in + kIn.size()));
    const bool is_name =
        !name.empty() && name.size() <= kOperationBytesMax && std::ranges::all_of(name, [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    // Frames of its own helpers lie within that of the operation.
    if (is_name && !name.starts_with('_')) return std::string(name);
  }
  return {};
}

}  // namespace robustrun::supervisor
