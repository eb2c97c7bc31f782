#include "supervisor/core/status/node_note.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "base/core/text.h"
#include "supervisor/core/fault/hang_places.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/report/facts.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kNoteBytesMax = 300;

class NoteTaker {
 public:
  explicit NoteTaker(const std::vector<JournalEntry>& entries) : facts_(gather(entries)) {}

  // A journal that was torn before its first record tells nothing.
  bool knows_run() const { return facts_.run != nullptr; }

  void take(const Event& event) {
    if (std::holds_alternative<AgentJoined>(event.body)) {
      joined_.insert(event.node);
    } else if (const auto* lost = std::get_if<AgentLost>(&event.body)) {
      // Otherwise only the agent died, or the scheduler has taken the node away.
      const bool is_machine =
          !lost->node_answers && !leaving_.contains(event.node) && joined_.contains(event.node);
      if (is_machine) note(event.node, event.at, NoteKind::kLost, lost->why);
    } else if (std::holds_alternative<NodeEnding>(event.body)) {
      leaving_.insert(event.node);
    } else if (const auto* checked = std::get_if<NodesChecked>(&event.body)) {
      take_check(*checked, event.at);
    } else if (const auto* diagnosed = std::get_if<Diagnosed>(&event.body)) {
      take_diagnosis(*diagnosed, event.at);
    } else if (const auto* exited = std::get_if<WorkerExited>(&event.body)) {
      if (exited->ended_well()) ended_well_.emplace(exited->attempt, exited->rank);
    }
  }

  // When several machines are evicted together, the check finds the one to blame.
  void take(const Decision& decision, base::Nanos at) {
    // What the scheduler does with a node that was left to it is not the node's fault.
    if (decision.rule == Rule::kNodeDrained) {
      leaving_.insert(decision.nodes.begin(), decision.nodes.end());
    } else if (decision.rule == Rule::kNodeReturned) {
      for (const base::NodeId node : decision.nodes) leaving_.erase(node);
    }
    if (decision.rule != Rule::kNodeEvicted || decision.nodes.size() != 1) return;
    note(decision.nodes.front(), at, NoteKind::kUnfit, decision.text);
  }

  std::vector<NodeNote> notes;

 private:
  void note(base::NodeId node, base::Nanos at, NoteKind kind, const std::string& text) {
    note(node_name(facts_, node), at, kind, text);
  }

  void note(const std::string& host, base::Nanos at, NoteKind kind, const std::string& text) {
    if (!noted_.emplace(host, kind).second) return;
    notes.push_back({host, wall_time(facts_, at), facts_.run->spec.run_id, kind,
                     base::printable(std::string_view(text).substr(0, kNoteBytesMax))});
  }

  // Its user has not put the script, its folder or the interpreter there.
  static bool lacks_program(const NodesChecked& checked, base::NodeId node) {
    return std::ranges::any_of(checked.nodes, [&](const NodeCheck& one) {
      return one.node == node && (!one.facts.missing.empty() || one.facts.software.missing);
    });
  }

  void take_check(const NodesChecked& checked, base::Nanos at) {
    std::vector<WantedNode> wanted;
    std::uint64_t world = 0;
    for (const NodeCheck& node : checked.nodes) {
      const auto& known = facts_.run->spec.nodes;
      const std::uint32_t slots = node.node.value < known.size() ? known[node.node.value].slots : 0;
      wanted.push_back({node_name(facts_, node.node), slots});
      world += slots;
    }
    const std::vector<NodeVerdict> verdicts = judge(checked, wanted, world);
    const bool all_bad = std::ranges::all_of(
        verdicts, [](const NodeVerdict& verdict) { return verdict.level >= Fitness::kSlow; });
    if (all_bad) return;
    for (const NodeVerdict& verdict : verdicts) {
      if (lacks_program(checked, verdict.node)) continue;
      if (verdict.level >= Fitness::kSlow) {
        const NoteKind kind = verdict.level == Fitness::kUnfit ? NoteKind::kUnfit : NoteKind::kSlow;
        note(verdict.node, at, kind, verdict.findings.front().words);
      } else if (checked.full) {
        note(verdict.node, at, NoteKind::kCleared, "passed a full check");
      }
    }
  }

  // It is the script's fault, or no fault at all.
  [[nodiscard]] bool is_no_machines(const Diagnosed& diagnosed) const {
    using tracer::Finding;
    constexpr std::array kNoMachines = {Finding::kNotEnded, Finding::kMismatch,
                                        Finding::kOrderInversion, Finding::kLongPhase};
    const tracer::Verdict& verdict = diagnosed.verdict;
    if (std::ranges::find(kNoMachines, verdict.finding) != kNoMachines.end()) return true;
    if (verdict.finding != Finding::kDied || verdict.culprits.empty()) return false;
    return std::ranges::all_of(verdict.culprits, [&](base::Rank rank) {
      return ended_well_.contains({diagnosed.attempt, rank});
    });
  }

  void take_diagnosis(const Diagnosed& diagnosed, base::Nanos at) {
    const tracer::Verdict& verdict = diagnosed.verdict;
    if (diagnosed.stage == Diagnosed::Stage::kRound) return;  // the vote's result counts
    const bool is_slow = tracer::is_slowness(verdict.finding);
    if (diagnosed.stage != Diagnosed::Stage::kConvicted && !is_slow) return;
    if (!is_slow && returns_to(verdict.script_line)) return;
    if (is_no_machines(diagnosed)) {
      hung_at_[verdict.script_line];  // a hang that returns there is the script's, too
      return;
    }
    for (const std::string& host : verdict.nodes) {
      note(host, at, is_slow ? NoteKind::kSlow : NoteKind::kHang, verdict.sentence);
      if (!is_slow) hung_at_[verdict.script_line].insert(host);
    }
  }

  // A hang that returns to the same place is the script's: its hosts are not blamed for the first
  // one.
  bool returns_to(const std::string& line) {
    const auto before =
        line.empty() ? hung_at_.end() : std::ranges::find_if(hung_at_, [&](const auto& row) {
          return is_same_place(row.first, line);
        });
    if (before == hung_at_.end()) return false;
    for (const std::string& host : std::exchange(before->second, {})) {
      noted_.erase({host, NoteKind::kHang});
      std::erase_if(notes, [&](const NodeNote& note) {
        return note.host == host && note.kind == NoteKind::kHang;
      });
    }
    return true;
  }

  const Facts facts_;
  std::set<base::NodeId> joined_;  // at least once
  std::set<base::NodeId> leaving_;
  std::set<std::pair<base::Attempt, base::Rank>> ended_well_;
  std::set<std::pair<std::string, NoteKind>> noted_;
  std::map<std::string, std::set<std::string>> hung_at_;  // a place of the script: hosts
};

}  // namespace

std::string_view to_string(NoteKind kind) {
  constexpr std::array<std::string_view, kNoteKinds> kWords = {"lost", "unfit",   "hang",
                                                               "slow", "cleared", "forgotten"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::vector<NodeNote> notes_of(const std::vector<JournalEntry>& entries) {
  NoteTaker taker(entries);
  if (!taker.knows_run()) return {};
  for (const JournalEntry& entry : entries) {
    if (const auto* event = std::get_if<Event>(&entry.what)) taker.take(*event);
    if (const auto* decision = std::get_if<Decision>(&entry.what)) taker.take(*decision, entry.at);
  }
  return std::move(taker.notes);
}

std::map<std::string, base::Nanos> forgotten_until(const std::vector<NodeNote>& notes) {
  std::map<std::string, base::Nanos> until;
  for (const NodeNote& note : notes) {
    if (note.kind != NoteKind::kForgotten) continue;
    base::Nanos& last = until[note.host];
    last = std::max(last, note.wall_time);
  }
  return until;
}

void drop_forgotten(std::vector<NodeNote>& notes) {
  const std::map<std::string, base::Nanos> until = forgotten_until(notes);
  std::erase_if(notes, [&](const NodeNote& note) {
    const auto found = until.find(note.host);
    return note.kind == NoteKind::kForgotten ||
           (found != until.end() && note.wall_time <= found->second);
  });
}

}  // namespace robustrun::supervisor
