#include "supervisor/core/status/group_wait.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kDone = " done";

std::string stage_words(const MissingRank& rank) {
  if (!rank.stage_took) return rank.stage;
  return fmt::format("{} {}{}", rank.stage, base::duration_words(*rank.stage_took),
                     rank.stage.ends_with(kDone) ? " ago" : "");
}

std::string more_words(std::size_t missing, std::size_t said) {
  return missing > said ? fmt::format(" and {} more", missing - said) : "";
}

}  // namespace

std::string in_words(const GroupWait& wait) {
  const std::size_t said = std::min(wait.ranks.size(), kMissingSaid);
  std::string text;
  for (std::size_t i = 0; i < said; ++i) {
    const MissingRank& rank = wait.ranks[i];
    const bool is_last = i > 0 && i + 1 == wait.missing;
    text += fmt::format("{}rank {} ({}, {})",
                        i == 0    ? ""
                        : is_last ? " and "
                                  : ", ",
                        rank.rank, base::printable(rank.node), base::printable(stage_words(rank)));
  }
  return fmt::format("in init_process_group for {}{}, {} so far", text,
                     more_words(wait.missing, said), base::duration_words(wait.lasting));
}

std::string missing_in_words(const GroupWait& wait) {
  if (wait.ranks.empty()) return "";  // not the supervisor's answer
  const MissingRank& first = wait.ranks.front();
  return fmt::format("rank {} on {}{}", first.rank, base::printable(first.node),
                     more_words(wait.missing, 1));
}

}  // namespace robustrun::supervisor
