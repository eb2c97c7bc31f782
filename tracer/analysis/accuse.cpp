#include "tracer/analysis/accuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/core/result.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

// The blame with the longest wait; its operation is the one in the sentence.
const Blame& main_blame(const std::vector<Blame>& blames) {
  const auto order = [](const Blame& b) {
    return std::tuple(b.age, -std::int64_t{b.comm}, -std::int64_t{b.at});
  };
  return *std::ranges::max_element(blames, {}, order);
}

bool is_same_operation(const Blame& a, const Blame& b) {
  return a.comm == b.comm && a.ordinal == b.ordinal && a.signature.kind == b.signature.kind;
}

std::string counters_line(const Case& facts, const Blame& blame) {
  const FleetView& view = facts.view;
  const Communicator& comm = view.comms()[blame.comm];
  std::string line = fmt::format("rank {}", view.rank(blame.at).rank.value);
  for (const Member& member : comm.members) {
    if (member.at != blame.at) continue;
    const Membership& m = *member.view;
    if (!member.counts) return line + ": its progress is unknown";
    line += fmt::format(": entered {}, launched {}, done {} in {}", m.entered, m.started, m.done,
                        group_text(view, comm));
    if (m.idle > base::Nanos{0}) {
      line += fmt::format(", the last one {} ago", base::rough_duration_words(m.idle));
    }
    if (m.in_call > base::Nanos{0}) {
      line +=
          fmt::format(", inside the library's call for {}", base::rough_duration_words(m.in_call));
    }
  }
  return line;
}

std::string process_line(const Case& facts, std::uint32_t at) {
  const RankSnapshot& rank = facts.view.rank(at);
  if (!rank.evidence.has_process) return "";
  const ProcessState& process = rank.evidence.process;
  std::string line = fmt::format("rank {}: process state {}", rank.rank.value,
                                 process.state.empty() ? "unknown" : process.state.substr(0, 8));
  if (process.frozen) line += ", frozen by its cgroup";
  if (!process.wait_channel.empty() && process.wait_channel != "0") {
    line += ", waiting in " + process.wait_channel.substr(0, kNameBytes);
  }
  if (process.watched > base::Nanos{0}) {
    line += fmt::format(", {} of CPU time in {}", base::rough_duration_words(process.cpu),
                        base::rough_duration_words(process.watched));
  }
  if (process.main_wait == MainWait::kSleep) line += ", sleeping for longer than a minute";
  if (process.main_wait == MainWait::kLock) line += ", waiting for a lock";
  if (process.children_blocked > 0) {
    line +=
        fmt::format(", {} of {} children in state D", process.children_blocked, process.children);
  }
  if (process.threads_blocked > 0) {
    line += fmt::format(", {} other thread{} in state D", process.threads_blocked,
                        process.threads_blocked > 1 ? "s" : "");
  }
  return line;
}

// How many members have entered the operation of `blame`, as a line.
std::string operation_line(const Case& facts, const Blame& blame, const Signature& signature) {
  const Communicator& comm = facts.view.comms()[blame.comm];
  if (is_point_to_point(signature.kind)) return "";
  std::size_t entered = 0;
  for (const Member& member : comm.members) {
    const bool is_inside = member.counts && member.place != Place::kAbsent;
    if (member.counts &&
        (member.ordinal > blame.ordinal || (member.ordinal == blame.ordinal && is_inside))) {
      ++entered;
    }
  }
  std::string line =
      fmt::format("{}: {} of {} members have entered it",
                  operation_text(facts.view, comm, blame.ordinal, signature), entered, comm.size);
  if (comm.uncounted > 0) line += fmt::format(", {} are unknown", comm.uncounted);
  return line;
}

void add_evidence(const Case& facts, const std::vector<Blame>& blames, Verdict& verdict,
                  const Blame& main) {
  std::vector<std::string>& lines = verdict.evidence;
  const auto add = [&](std::string line) {
    if (!line.empty() && lines.size() < kEvidenceLines) lines.push_back(std::move(line));
  };
  if (main.ordinal != 0) add(operation_line(facts, main, verdict.signature));
  for (const Blame& blame : blames) {
    if (lines.size() + 4 > kEvidenceLines) break;
    if (blame.age >= base::Nanos{0}) add(counters_line(facts, blame));
    add(process_line(facts, blame.at));
    for (const std::string& error : facts.view.rank(blame.at).evidence.network) {
      add(fmt::format("rank {}: {}", facts.view.rank(blame.at).rank.value, error));
    }
    for (std::string& line : hearsay_lines(facts.view, {blame.at})) add(std::move(line));
  }
  add(stacks_text(facts));
}

// Where all of them are; empty: at different places, or unknown.
std::string common_place(const Case& facts, const std::vector<std::uint32_t>& ats) {
  const std::string place = describe(facts.where[ats.front()]);
  const auto is_there = [&](std::uint32_t at) { return describe(facts.where[at]) == place; };
  return std::ranges::all_of(ats, is_there) ? place : "";
}

// The ranks outside the largest set of equal stacks, if that set has more than half of all.
std::vector<std::uint32_t> outliers_of(const Case& facts) {
  std::size_t all = 0;
  for (const SameStack& same : facts.same) all += same.members.size();
  if (facts.same.size() < 2 || facts.same.front().members.size() * 2 <= all) return {};
  std::vector<std::uint32_t> outliers;
  for (std::size_t i = 1; i < facts.same.size(); ++i) {
    outliers.insert(outliers.end(), facts.same[i].members.begin(), facts.same[i].members.end());
  }
  std::ranges::sort(outliers);
  return outliers;
}

bool is_within(const std::vector<std::uint32_t>& ats, const Communicator& comm) {
  std::vector<std::uint32_t> members;
  for (const Member& member : comm.members) members.push_back(member.at);
  std::ranges::sort(members);
  return std::ranges::includes(members, ats);
}

// The smallest group, of at least two ranks, that contains all of them; empty: only all ranks
// together do.
std::string shared_group(const FleetView& view, const std::vector<std::uint32_t>& ats) {
  const std::vector<base::Rank> ranks = global_ranks(view, ats);
  std::size_t smallest = view.rank_count();
  std::string name;
  for (const RankGroup& group : view.fleet().layout) {
    if (group.ranks.size() >= smallest || !std::ranges::includes(group.ranks, ranks)) continue;
    smallest = group.ranks.size();
    name = "group " + group.name.substr(0, kNameBytes);
  }
  for (const MemberAt where : view.memberships(ats.front())) {
    const Communicator& comm = view.comms()[where.comm];
    if (comm.size >= smallest || comm.size < 2 || !is_within(ats, comm)) continue;
    smallest = comm.size;
    name = group_text(view, comm);
  }
  return name;
}

bool may_be_missing(const FleetView& view, const Communicator& comm, std::uint32_t at) {
  const auto is_it = [&](const Member& m) { return m.at == at; };
  if (comm.uncounted == 0 || std::ranges::any_of(comm.members, is_it)) return false;
  const std::vector<base::Rank> missing = view.missing_members(comm);
  return missing.empty() || std::ranges::find(missing, view.rank(at).rank) != missing.end();
}

}  // namespace

Accusation accuse(const Case& facts, Finding finding, std::vector<Blame> blames) {
  RR_ASSERT(!blames.empty());
  std::ranges::sort(blames, {}, &Blame::at);
  const FleetView& view = facts.view;
  Accusation made;
  Verdict& verdict = made.verdict;
  verdict.finding = finding;
  verdict.confidence = Confidence::kExact;
  bool differ = false;
  const Blame& main = main_blame(blames);
  for (const Blame& blame : blames) {
    made.culprits.push_back(blame.at);
    differ |= !is_same_operation(blame, main);
    const Evidence& evidence = view.rank(blame.at).evidence;
    // Without stacks it is unknown where the rank is, so it may be on its way.
    const bool is_unknown = finding == Finding::kNeverEntered && evidence.stacks.empty();
    verdict.is_moving |= is_unknown || is_moving(evidence);
    const bool is_unseen = blame.age < base::Nanos{0} || view.comms()[blame.comm].uncounted > 0;
    if (is_unseen) verdict.confidence = Confidence::kInferred;
  }
  made.victims = facts.graph.victims_of(made.culprits);
  verdict.culprits = global_ranks(view, made.culprits);
  verdict.victims = global_ranks(view, made.victims);
  verdict.nodes = nodes_of(view, made.culprits);
  verdict.place = common_place(facts, made.culprits);
  made.named = ranks_text(view, made.culprits);
  made.age = age_to_tell(facts, main.age);
  verdict.lasting = made.age;
  for (const Wait& wait : facts.graph.waits()) {
    if (!std::ranges::binary_search(made.victims, wait.at)) continue;
    verdict.lasting = std::max(verdict.lasting, age_to_tell(facts, wait.age));
    break;  // the waits are sorted by age
  }
  if (main.age >= base::Nanos{0}) {
    const Communicator& comm = view.comms()[main.comm];
    verdict.comm = comm.key;
    verdict.group = view.group_name(comm);
    if (verdict.group.empty()) verdict.group = group_text(view, comm);
    verdict.ordinal = main.ordinal;
    verdict.signature = main.signature;
    if (main.signature.kind == OpKind::kUnknown) {
      verdict.signature = view.signature(comm, main.ordinal).value_or(Signature{});
    }
    made.operation = operation_text(view, comm, main.ordinal, verdict.signature);
    if (differ) made.operation += " and others";
  }
  add_evidence(facts, blames, verdict, main);
  return made;
}

base::Nanos age_to_tell(const Case& facts, base::Nanos age) {
  const bool is_lower_bound = facts.view.fleet().at_rest && age < kShortWait;
  return is_lower_bound ? base::Nanos{0} : std::max(age, base::Nanos{0});
}

void add_members(const Case& facts, std::uint32_t comm, Accusation& accusation) {
  std::vector<std::uint32_t> victims = accusation.culprits;
  victims.insert(victims.end(), accusation.victims.begin(), accusation.victims.end());
  for (const Wait& wait : facts.graph.waits()) {
    if (wait.comm == comm) victims.push_back(wait.at);
  }
  const std::vector<std::uint32_t> further = facts.graph.victims_of(victims);
  victims.insert(victims.end(), further.begin(), further.end());
  std::ranges::sort(victims);
  victims.erase(std::ranges::unique(victims).begin(), victims.end());
  std::erase_if(victims, [&](std::uint32_t at) {
    return std::ranges::binary_search(accusation.culprits, at);
  });
  accusation.victims = victims;
  accusation.verdict.victims = global_ranks(facts.view, victims);
}

std::string data_wait_text(const Case& facts, const std::vector<std::uint32_t>& ats) {
  for (const std::uint32_t at : ats) {
    const RankSnapshot& rank = facts.view.rank(at);
    if (rank.evidence.data_wait.empty()) continue;
    const std::string who =
        ats.size() == 1 ? std::string("it") : fmt::format("rank {}", rank.rank.value);
    return fmt::format("; {} waits for data of {}", who,
                       rank.evidence.data_wait.substr(0, kDataWaitBytes));
  }
  return "";
}

std::string whereabouts_text(const Case& facts, const Accusation& accusation) {
  const std::string data = data_wait_text(facts, accusation.culprits);
  if (!accusation.verdict.place.empty()) {
    return fmt::format("; {} in {}{}", accusation.choose("it is", "they are"),
                       accusation.verdict.place, data);
  }
  for (const std::uint32_t at : accusation.culprits) {
    const std::string place = describe(facts.where[at]);
    if (place.empty()) continue;
    return fmt::format("; rank {} is in {}{}", facts.view.rank(at).rank.value, place, data);
  }
  return data;
}

std::string waiting_text(const Case& facts, const Accusation& accusation) {
  return waiting_text(facts.view, accusation.victims, accusation.is_plural());
}

std::vector<std::string> hearsay_lines(const FleetView& view,
                                       const std::vector<std::uint32_t>& ats) {
  std::vector<std::string> lines;
  for (const std::uint32_t at : ats) {
    for (const std::string& claim : view.rank(at).evidence.hearsay) {
      if (lines.size() == kHearsayLines) return lines;
      lines.push_back(fmt::format("rank {}: {}", view.rank(at).rank.value, claim));
    }
  }
  return lines;
}

bool is_moving(const Evidence& evidence) {
  const ProcessState& process = evidence.process;
  if (evidence.stacks_moved) return true;
  if (!evidence.has_process) return false;
  // Storage responds sooner or later; a GPU that reports errors may not.
  const auto has_errors = [](const GpuState& gpu) { return !gpu.errors.empty(); };
  const bool waits_for_storage =
      (process.state == "D" || process.children_blocked > 0 || process.threads_blocked > 0) &&
      std::ranges::none_of(evidence.gpus, has_errors);
  const base::Nanos wanted = process.cpu + process.cpu_delay;
  const auto share = static_cast<double>(process.watched.count()) * kMovingCpu;
  return process.state == "R" || waits_for_storage || process.io_bytes > kMovingIoBytes ||
         (process.watched > base::Nanos{0} && static_cast<double>(wanted.count()) > share);
}

bool is_still(const Evidence& evidence, const Whereabouts& where) {
  const ProcessState& process = evidence.process;
  if (!evidence.has_process || is_moving(evidence) || !process.others_idle) return false;
  if (where.reason != Reason::kUserCode || !where.is_in_own_line) return false;
  // Native threads may wait for it.
  const auto is_busy = [](const GpuState& gpu) { return gpu.utilisation_percent > 0; };
  if (std::ranges::any_of(evidence.gpus, is_busy)) return false;
  switch (process.main_wait) {
    case MainWait::kOther: return false;
    case MainWait::kSleep: return other_threads(evidence) != OtherThreads::kActive;
    // Another thread of Python, or a child, may free it; a native thread frees what native code
    // waits for, perhaps when a server answers.
    case MainWait::kLock:
      return where.is_in_pythons_wait && process.children == 0 &&
             other_threads(evidence) == OtherThreads::kNone;
  }
  return false;
}

std::vector<std::string> nodes_of(const FleetView& view, const std::vector<std::uint32_t>& ats) {
  std::vector<std::string> nodes;
  for (const std::uint32_t at : ats) {
    if (!view.rank(at).node.empty()) nodes.push_back(view.rank(at).node);
  }
  std::ranges::sort(nodes, base::natural_less);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

std::vector<std::uint32_t> all_waiting(const Case& facts) {
  std::vector<std::uint32_t> waiting;
  for (const Wait& wait : facts.graph.waits()) waiting.push_back(wait.at);
  std::ranges::sort(waiting);
  waiting.erase(std::ranges::unique(waiting).begin(), waiting.end());
  return waiting;
}

std::vector<base::Rank> global_ranks(const FleetView& view, const std::vector<std::uint32_t>& ats) {
  std::vector<base::Rank> ranks;
  for (const std::uint32_t at : ats) ranks.push_back(view.rank(at).rank);
  return ranks;
}

std::string stacks_text(const Case& facts) {
  if (facts.same.size() < 2) return "";
  std::string text = "stacks: ";
  for (std::size_t i = 0; i < std::min(facts.same.size(), kRanksNamed); ++i) {
    const std::vector<std::uint32_t>& members = facts.same[i].members;
    text += i > 0 ? "; " : "";
    text += members.size() == 1
                ? fmt::format("rank {}", facts.view.rank(members.front()).rank.value)
                : fmt::format("{} ranks", members.size());
    text += ": " + facts.same[i].place;
  }
  return text;
}

std::string outliers_text(const Case& facts) {
  const std::vector<std::uint32_t> outliers = outliers_of(facts);
  if (outliers.empty()) return "";
  std::string text =
      fmt::format("{} {} not where the other {} are", ranks_text(facts.view, outliers),
                  outliers.size() > 1 ? "are" : "is", facts.same.front().members.size());
  const std::string group = shared_group(facts.view, outliers);
  return group.empty() ? text : text + ", in " + group;
}

std::vector<Blame> unplaced(const Case& facts, Guilt guilt) {
  const FleetView& view = facts.view;
  std::vector<Blame> blames;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    if (guilt == Guilt::kDead ? !view.is_dead(at) : !view.is_stopped(at)) continue;
    const auto lacks_it = [&](std::uint32_t c) {
      return may_be_missing(view, view.comms()[c], at);
    };
    if (!view.memberships(at).empty() && std::ranges::none_of(facts.graph.unseen(), lacks_it)) {
      continue;
    }
    Blame blame;
    blame.at = at;
    blame.guilt = guilt;
    blame.age = base::Nanos{-1};
    blames.push_back(blame);
  }
  return blames;
}

void name_further(const Case& facts, std::vector<std::uint32_t> ats, std::string_view what_one_does,
                  std::string_view what_several_do, Verdict& verdict) {
  std::erase_if(ats, [&](std::uint32_t at) {
    return std::ranges::binary_search(verdict.culprits, facts.view.rank(at).rank);
  });
  if (ats.empty()) return;
  if (!verdict.sentence.empty()) verdict.sentence += "; ";
  verdict.sentence += fmt::format("{} {}", ranks_text(facts.view, ats),
                                  ats.size() > 1 ? what_several_do : what_one_does);
  for (const base::Rank rank : global_ranks(facts.view, ats)) {
    verdict.culprits.push_back(rank);
    std::erase(verdict.victims, rank);
  }
  std::ranges::sort(verdict.culprits);
  for (const std::string& node : nodes_of(facts.view, ats)) {
    if (std::ranges::find(verdict.nodes, node) == verdict.nodes.end())
      verdict.nodes.push_back(node);
  }
  std::ranges::sort(verdict.nodes, base::natural_less);
  verdict.confidence = Confidence::kInferred;
}

void add_halted(const Case& facts, Verdict& verdict) {
  std::vector<std::uint32_t> halted;
  for (std::uint32_t at = 0; at < facts.view.rank_count(); ++at) {
    if (facts.view.rank(at).halted) halted.push_back(at);
  }
  name_further(facts, std::move(halted), "has stopped calling", "have stopped calling", verdict);
}

std::vector<base::Rank> unseen_members(const Case& facts, const Communicator& comm) {
  std::vector<base::Rank> ranks = facts.view.missing_members(comm);
  for (const Member& member : comm.members) {
    if (!member.counts) ranks.push_back(facts.view.rank(member.at).rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace robustrun::tracer
