// R4a, at rest: all members have reached an operation, and it does not complete.
//
// A dump without timings does not show which member's GPU is stuck. But a stuck GPU blocks every
// operation that it has reached, so a rank that several stuck operations share is the culprit. For
// a single operation it is the member that has called far more than the others without finishing
// it. Otherwise the verdict lists the members and names no rank.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct Standing {  // an operation that all members have reached
  const Wait* wait = nullptr;
  std::vector<std::uint32_t> members;
};

std::vector<Standing> standing_of(const Case& facts) {
  const FleetView& view = facts.view;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>, Standing> found;
  for (const Wait& wait : facts.graph.waits()) {
    const Communicator& comm = view.comms()[wait.comm];
    if (wait.has_edges || comm.uncounted > 0) continue;
    // An operation that has left the ring may not be the oldest unfinished one.
    const bool is_told = wait.signature.kind != OpKind::kUnknown;
    if (wait.peer < 0 && !is_told) continue;
    if (wait.peer < 0) {
      Standing& standing = found[{wait.comm, wait.ordinal, 0, 0}];
      standing.wait = &wait;
      standing.members.push_back(wait.at);
      continue;
    }
    const Member* const peer = comm.find(wait.peer);
    if (peer == nullptr) continue;
    const auto [first, second] = std::minmax(wait.at, peer->at);
    Standing& standing = found[{wait.comm, 0, first, second}];
    standing.wait = &wait;
    standing.members = {first, second};
  }
  std::vector<Standing> standing;
  for (auto& [key, one] : found) {
    const bool is_whole =
        one.wait->peer >= 0 || one.members.size() == view.comms()[one.wait->comm].size;
    if (is_whole) standing.push_back(std::move(one));
  }
  return standing;
}

std::size_t called_by(const FleetView& view, std::uint32_t at) {
  std::size_t pending = 0;
  for (const MemberAt where : view.memberships(at)) {
    pending += view.member(where).view->pending.size();
  }
  return pending;
}

// The member with more than twice as many pending calls as any other, and at least several more;
// none: no member stands out.
std::optional<std::uint32_t> one_far_ahead(const FleetView& view,
                                           const std::vector<std::uint32_t>& members) {
  constexpr std::size_t kSeveral = 3;
  std::vector<std::pair<std::size_t, std::uint32_t>> called;
  for (const std::uint32_t at : members) called.push_back({called_by(view, at), at});
  std::ranges::sort(called, std::greater{});
  if (called.size() < 2 || called[0].first < 2 * called[1].first + kSeveral) return std::nullopt;
  return called[0].second;
}

// The rank that most stuck operations share, if that is a single rank and it is in more than one of
// them.
std::optional<std::uint32_t> most_shared(const std::vector<Standing>& standing) {
  std::map<std::uint32_t, std::size_t> shares;
  for (const Standing& one : standing) {
    for (const std::uint32_t at : one.members) ++shares[at];
  }
  std::size_t most = 1;
  std::optional<std::uint32_t> found;
  for (const auto& [at, count] : shares) {
    if (count == most) found.reset();
    if (count <= most) continue;
    most = count;
    found = at;
  }
  return found;
}

bool holds(const Standing& standing, std::uint32_t at) {
  return std::ranges::find(standing.members, at) != standing.members.end();
}

struct Found {
  std::vector<Blame> blames;
  std::vector<std::uint32_t> comms;  // communicators of the operations that they block
  std::vector<Standing> undecided;
};

Found sort_standing(const Case& facts, std::vector<Standing> standing) {
  Found found;
  const auto blame = [&](std::uint32_t at, const Wait& wait) {
    Blame made;
    made.at = at;
    made.guilt = Guilt::kBehind;
    made.comm = wait.comm;
    made.ordinal = wait.ordinal;
    made.signature = wait.signature;
    made.age = wait.age;
    found.blames.push_back(made);
    for (const Standing& one : standing) {
      if (holds(one, at)) found.comms.push_back(one.wait->comm);
    }
    std::erase_if(standing, [&](const Standing& s) { return holds(s, at); });
  };
  while (const std::optional<std::uint32_t> at = most_shared(standing)) {
    const auto first =
        std::ranges::find_if(standing, [&](const Standing& s) { return holds(s, *at); });
    blame(*at, *first->wait);
  }
  while (!standing.empty()) {
    const Standing one = standing.front();
    const std::optional<std::uint32_t> at = one_far_ahead(facts.view, one.members);
    if (at) {
      blame(*at, *one.wait);
    } else {
      found.undecided.push_back(one);
      standing.erase(standing.begin());
    }
  }
  return found;
}

std::string one_of_text(const Case& facts, const Standing& standing) {
  const Communicator& comm = facts.view.comms()[standing.wait->comm];
  Signature signature = standing.wait->signature;
  if (signature.kind == OpKind::kUnknown) {
    signature = facts.view.signature(comm, standing.wait->ordinal).value_or(signature);
  }
  return fmt::format("{} have all reached {}, which does not complete",
                     ranks_text(facts.view, standing.members),
                     operation_text(facts.view, comm, standing.wait->ordinal, signature));
}

// Lists the members of the stuck operations and names no rank.
Verdict undecided(const Case& facts, const std::vector<Standing>& standing) {
  const Wait& wait = *standing.front().wait;
  const Communicator& comm = facts.view.comms()[wait.comm];
  Verdict verdict;
  verdict.finding = Finding::kUndecided;
  verdict.comm = comm.key;
  verdict.group = facts.view.group_name(comm);
  verdict.ordinal = wait.ordinal;
  verdict.signature = wait.signature;
  verdict.lasting = age_to_tell(facts, wait.age);
  const std::vector<std::uint32_t> waiting = all_waiting(facts);
  verdict.victims = global_ranks(facts.view, waiting);
  verdict.sentence =
      fmt::format("{}: one of their GPUs is stuck, and dumps without timings do not show which",
                  one_of_text(facts, standing.front()));
  for (const Standing& one : standing) {
    if (verdict.evidence.size() < kEvidenceLines) {
      verdict.evidence.push_back(one_of_text(facts, one));
    }
  }
  verdict.evidence.push_back(
      "with TORCH_NCCL_ENABLE_TIMING=1 a dump shows which GPU has not started");
  return verdict;
}

}  // namespace

std::optional<Verdict> rule_gpu_stands(const Case& facts) {
  if (!facts.view.fleet().at_rest) return std::nullopt;
  std::vector<Standing> standing = standing_of(facts);
  if (standing.empty()) return std::nullopt;
  const Found found = sort_standing(facts, std::move(standing));
  if (found.blames.empty()) return undecided(facts, found.undecided);
  Accusation made = accuse(facts, Finding::kGpuInKernel, found.blames);
  for (const std::uint32_t comm : found.comms) add_members(facts, comm, made);
  made.verdict.confidence = Confidence::kInferred;
  made.verdict.sentence =
      fmt::format("the {} of {} {} stuck: all members have reached {}, and it does not complete{}",
                  made.choose("GPU", "GPUs"), made.named, made.choose("is", "are"), made.operation,
                  waiting_text(facts, made));
  for (const Standing& one : found.undecided) {
    if (made.verdict.evidence.size() < kEvidenceLines) {
      made.verdict.evidence.push_back(one_of_text(facts, one));
    }
  }
  return made.verdict;
}

}  // namespace robustrun::tracer
