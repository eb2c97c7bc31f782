#include "tracer/ras_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace robustrun::tracer {
namespace {

using base::Errc;

// What the communicators of the world's size say about one rank.
struct Claim {
  const RasRank* first = nullptr;  // never null
  bool is_contradicted = false;
};

bool is_other(std::int32_t pid, std::int32_t other) { return pid > 0 && other > 0 && pid != other; }

bool agree(const RasRank& a, const RasRank& b) {
  return !is_other(a.pid, b.pid) && a.host == b.host && a.dead == b.dead &&
         a.unresponsive == b.unresponsive;
}

std::map<std::uint32_t, Claim> claims_of(const RasReport& report, std::uint32_t world_size) {
  std::map<std::uint32_t, Claim> claims;
  for (const RasCommunicator& communicator : report.communicators) {
    if (communicator.size != world_size) continue;
    for (const RasRank& rank : communicator.ranks) {
      if (rank.rank >= world_size) continue;
      Claim& claim = claims[rank.rank];
      if (claim.first == nullptr) {
        claim.first = &rank;
      } else if (!agree(*claim.first, rank)) {
        claim.is_contradicted = true;
      }
    }
  }
  return claims;
}

base::Status check_identity(const std::map<std::uint32_t, Claim>& claims, bool is_shared,
                            const FleetSnapshot& fleet) {
  bool is_ours = !is_shared;
  for (const RankSnapshot& seen : fleet.ranks) {
    const auto found = claims.find(seen.rank.value);
    if (found == claims.end()) continue;
    const std::int32_t pid = found->second.first->pid;
    if (is_other(pid, seen.pid)) {
      return base::fail(Errc::kConflict,
                        fmt::format("cannot use the report of NCCL's RAS: its rank {} is process "
                                    "{}, but ours is {}",
                                    seen.rank.value, pid, seen.pid));
    }
    is_ours = is_ours || (pid > 0 && pid == seen.pid);
  }
  if (is_ours) return {};
  return base::fail(Errc::kConflict,
                    "cannot use the report of NCCL's RAS: it may be about another job, because it "
                    "names no process of this one");
}

// Empty: the rank is well.
std::string trouble_of(const RasRank& rank) {
  if (rank.dead) return "NCCL's RAS considers it dead";
  return rank.unresponsive ? "NCCL's RAS gets no answer from it" : "";
}

}  // namespace

base::Status add_ras(const RasEvidence& evidence, FleetSnapshot& fleet) {
  if (evidence.report.empty() || fleet.world_size == 0) return {};
  const RasReport report = RR_TRY(read_ras_report(evidence.report));
  const std::map<std::uint32_t, Claim> claims = claims_of(report, fleet.world_size);
  RR_TRY(check_identity(claims, evidence.is_shared, fleet));
  std::map<std::uint32_t, const Claim*> open;  // about ranks without a snapshot
  for (const auto& [number, claim] : claims) {
    if (!claim.is_contradicted) open.emplace(number, &claim);
  }
  for (RankSnapshot& seen : fleet.ranks) {
    const auto found = open.find(seen.rank.value);
    if (found == open.end()) continue;
    std::string trouble = trouble_of(*found->second->first);
    if (!trouble.empty()) seen.evidence.hearsay.push_back(std::move(trouble));
    open.erase(found);
  }
  for (const auto& [number, claim] : open) {
    if (!claim->first->dead) continue;
    const auto known = std::ranges::find(evidence.unseen, base::Rank{number}, &RankSnapshot::rank);
    RankSnapshot dead;
    if (known != evidence.unseen.end()) {
      dead = *known;
    } else {
      dead.rank = {number};
      dead.node = claim->first->host;
    }
    dead.life = Life::kDead;
    dead.end = trouble_of(*claim->first);
    fleet.ranks.push_back(std::move(dead));
  }
  std::ranges::sort(fleet.ranks, {}, &RankSnapshot::rank);
  return {};
}

}  // namespace robustrun::tracer
