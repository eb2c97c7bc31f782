#include "tracer/ras_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace robustrun::tracer {
namespace {

using base::Errc;

// Of a rank of the world, by all communicators of that size.
struct Word {
  const RasRank* said = nullptr;
  bool is_contradicted = false;
};

bool is_other(std::int32_t pid, std::int32_t other) { return pid > 0 && other > 0 && pid != other; }

bool says_the_same(const RasRank& a, const RasRank& b) {
  return !is_other(a.pid, b.pid) && a.host == b.host && a.dead == b.dead &&
         a.unresponsive == b.unresponsive;
}

std::map<std::uint32_t, Word> words_of(const RasReport& report, std::uint32_t world_size) {
  std::map<std::uint32_t, Word> words;
  for (const RasCommunicator& communicator : report.communicators) {
    if (communicator.size != world_size) continue;
    for (const RasRank& rank : communicator.ranks) {
      if (rank.rank >= world_size) continue;
      Word& word = words[rank.rank];
      if (word.said == nullptr) {
        word.said = &rank;
      } else if (!says_the_same(*word.said, rank)) {
        word.is_contradicted = true;
      }
    }
  }
  return words;
}

base::Status check_identity(const std::map<std::uint32_t, Word>& words, bool is_shared,
                            const FleetSnapshot& fleet) {
  bool is_ours = !is_shared;
  for (const RankSnapshot& seen : fleet.ranks) {
    const auto found = words.find(seen.rank.value);
    if (found == words.end()) continue;
    const std::int32_t pid = found->second.said->pid;
    if (is_other(pid, seen.pid)) {
      return base::fail(Errc::kConflict,
                        fmt::format("cannot use the report of NCCL's RAS: its rank {} is process "
                                    "{}, ours is {}",
                                    seen.rank.value, pid, seen.pid));
    }
    is_ours = is_ours || (pid > 0 && pid == seen.pid);
  }
  if (is_ours) return {};
  return base::fail(Errc::kConflict,
                    "cannot use the report of NCCL's RAS: it may be another job's, since it names "
                    "no process of ours");
}

// Empty: nothing bad.
std::string claim_of(const RasRank& rank) {
  if (rank.dead) return "NCCL's RAS considers it dead";
  return rank.unresponsive ? "NCCL's RAS gets no answer from it" : "";
}

}  // namespace

base::Status add_ras(const SaidByRas& said, FleetSnapshot& fleet) {
  if (said.report.empty() || fleet.world_size == 0) return {};
  const RasReport report = RR_TRY(read_ras_report(said.report));
  const std::map<std::uint32_t, Word> words = words_of(report, fleet.world_size);
  RR_TRY(check_identity(words, said.is_shared, fleet));
  std::map<std::uint32_t, const Word*> open;  // that no snapshot has taken
  for (const auto& [number, word] : words) {
    if (!word.is_contradicted) open.emplace(number, &word);
  }
  for (RankSnapshot& seen : fleet.ranks) {
    const auto found = open.find(seen.rank.value);
    if (found == open.end()) continue;
    std::string claim = claim_of(*found->second->said);
    if (!claim.empty()) seen.evidence.hearsay.push_back(std::move(claim));
    open.erase(found);
  }
  for (const auto& [number, word] : open) {
    if (!word->said->dead) continue;
    const auto known = std::ranges::find(said.unseen, base::Rank{number}, &RankSnapshot::rank);
    RankSnapshot dead;
    if (known != said.unseen.end()) {
      dead = *known;
    } else {
      dead.rank = {number};
      dead.node = word->said->host;
    }
    dead.life = Life::kDead;
    dead.end = claim_of(*word->said);
    fleet.ranks.push_back(std::move(dead));
  }
  std::ranges::sort(fleet.ranks, {}, &RankSnapshot::rank);
  return {};
}

}  // namespace robustrun::tracer
