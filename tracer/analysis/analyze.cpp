#include "tracer/analysis/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <span>

#include "base/core/text.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/rules.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

// Rules on facts that nothing else explains come first; rules that conclude from missing records
// come last. The two ends of a link that contradict each other prove more than an idle GPU.
constexpr Rule kHangRules[] = {
    rule_died,               // R1
    rule_stopped,            // R1b
    rule_mismatch,           // R6
    rule_input_stall,        // R9
    rule_never_entered,      // R2
    rule_gpu_before_kernel,  // R3
    rule_link_down,          // R8b, on stuck links
    rule_link_stuck,         // R4b
    rule_slow_tcp,           // R8, for an operation that takes long
    rule_left_behind,        // R5
    rule_long_phase,         // R10
    rule_halted,             // R2, at rest
    rule_gpu_stands,         // R4a, at rest
    rule_order_inversion,    // R6b
    rule_interface_down,     // R8b, without stuck links
    rule_proxy_stuck,        // R4c
    rule_gpu_in_kernel,      // R4a, R4d
    rule_gpu_errors,         // R4a
    rule_unseen_elsewhere,   // R2
    rule_not_seen,           // R2
    rule_not_ended,          // R12, no rank is inside an operation
    rule_calls_by_stack,     // R2, no rank is inside a recorded operation
    rule_all_outside,        // R10
};
// R7, R7b, R8; R8 for gloo; R8c; R7 for gloo.
constexpr Rule kSlowRules[] = {rule_slow_rank, rule_slow_gpu,   rule_slow_link,
                               rule_slow_tcp,  rule_slow_group, rule_late_rank};

bool names_the_same(const Verdict& a, const Verdict& b) {
  return a.culprits == b.culprits && a.edges == b.edges;
}

std::vector<std::uint32_t> all_with_pending(const FleetView& view) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    const auto has_pending = [](const Membership& comm) { return !comm.pending.empty(); };
    if (std::ranges::any_of(view.rank(at).comms, has_pending)) found.push_back(at);
  }
  return found;
}

// The verdict if no rule fires.
Verdict undecided(const Case& facts) {
  Verdict verdict;
  if (facts.graph.waits().empty()) {
    const std::vector<std::uint32_t> queued = all_with_pending(facts.view);
    verdict.sentence = "no rank is blocked";
    if (!facts.view.fleet().at_rest || queued.empty()) return verdict;
    verdict.finding = Finding::kUndecided;
    verdict.victims = global_ranks(facts.view, queued);
    verdict.sentence = fmt::format(
        "{} {} pending operations and no record of the earlier operations that block them",
        ranks_text(facts.view, queued), queued.size() > 1 ? "have" : "has");
    return verdict;
  }
  const Wait& longest = facts.graph.waits().front();
  const Communicator& comm = facts.view.comms()[longest.comm];
  verdict.finding = Finding::kUndecided;
  verdict.comm = comm.key;
  verdict.group = facts.view.group_name(comm);
  verdict.ordinal = longest.ordinal;
  verdict.signature = longest.signature;
  if (verdict.signature.kind == OpKind::kUnknown) {
    verdict.signature = facts.view.signature(comm, longest.ordinal).value_or(Signature{});
  }
  verdict.lasting = age_to_tell(facts, longest.age);
  const std::vector<std::uint32_t> waiting = all_waiting(facts);
  verdict.victims = global_ranks(facts.view, waiting);
  const std::string operation =
      operation_text(facts.view, comm, longest.ordinal, verdict.signature);
  verdict.sentence =
      fmt::format("{} {}{} in {}", ranks_text(facts.view, waiting),
                  waiting.size() > 1 ? "wait" : "waits", for_text(verdict.lasting), operation);
  verdict.sentence += longest.has_edges ? "; it is unknown which rank blocks it"
                                        : ", which all members have entered; it is unknown what "
                                          "blocks it";
  if (const std::string outliers = outliers_text(facts); !outliers.empty()) {
    verdict.sentence += "; " + outliers;
  }
  if (std::string stacks = stacks_text(facts); !stacks.empty()) {
    verdict.evidence.push_back(std::move(stacks));
  }
  std::vector<std::uint32_t> all(facts.view.rank_count());
  std::iota(all.begin(), all.end(), 0U);
  std::ranges::move(hearsay_lines(facts.view, all), std::back_inserter(verdict.evidence));
  return verdict;
}

void consider(const Case& facts, std::span<const Rule> rules, std::optional<Verdict>& verdict) {
  for (const Rule rule : rules) {
    if (verdict && verdict->runner_up.finding != Finding::kNothing) return;
    std::optional<Verdict> found = rule(facts);
    if (!found) continue;
    if (!verdict) {
      verdict = std::move(found);
    } else if (!names_the_same(*verdict, *found)) {
      verdict->runner_up = {found->finding, std::move(found->sentence)};
    }
  }
}

// Files and reports may show what each rank is inside without its age. Such a wait may be over a
// moment later, and the ranks may have been recorded at different moments.
bool has_no_ages(const Case& facts) {
  return !facts.graph.waits().empty() && facts.graph.longest_wait() == base::Nanos{};
}

// Findings that hold even if the ranks were seen at different moments.
bool is_timeless(Finding finding) {
  return finding == Finding::kDied || finding == Finding::kMismatch || is_slowness(finding);
}

Verdict decide(const Case& facts) {
  std::optional<Verdict> verdict;
  const bool is_ageless = has_no_ages(facts);
  const bool is_hung = is_ageless || facts.view.fleet().at_rest;  // regardless of ages
  const bool is_short = facts.graph.longest_wait() < kShortWait && !is_hung;
  if (is_short) consider(facts, kSlowRules, verdict);
  consider(facts, kHangRules, verdict);
  if (is_hung) consider(facts, kSlowRules, verdict);
  if (!verdict) return undecided(facts);
  if (is_ageless && !is_timeless(verdict->finding)) {
    verdict->confidence = std::min(verdict->confidence, Confidence::kInferred);
  }
  if (std::optional<Verdict> group = rule_group_failure(facts, *verdict)) {
    if (group->runner_up.finding == Finding::kNothing) {
      group->runner_up = {verdict->finding, verdict->sentence};
    }
    return *std::move(group);
  }
  return *std::move(verdict);
}

// All of these texts may contain names that come from workers.
void make_printable(Verdict& verdict) {
  const auto clean = [](std::string& text, std::size_t most) {
    text = base::printable(std::string_view(text).substr(0, most));
  };
  clean(verdict.sentence, kSentenceBytes);
  clean(verdict.runner_up.sentence, kSentenceBytes);
  clean(verdict.group, kNameBytes);
  clean(verdict.script_line, kSentenceBytes);
  for (std::string& node : verdict.nodes) clean(node, kNameBytes);
  if (verdict.evidence.size() > kEvidenceLines) verdict.evidence.resize(kEvidenceLines);
  for (std::string& line : verdict.evidence) clean(line, kSentenceBytes);
}

Verdict decide_failed(const Case& facts) {
  if (std::optional<Verdict> mismatch = rule_mismatch(facts)) return *std::move(mismatch);
  return rule_ended_early(facts).value_or(Verdict{});
}

// The communicator that this rank used last; null: it has used none.
Membership* used_last(RankSnapshot& rank) {
  Membership* last = nullptr;
  for (Membership& comm : rank.comms) {
    if (!comm.counts_completion || comm.recent.empty()) continue;
    if (last == nullptr || comm.recent.back().entered_at > last->recent.back().entered_at) {
      last = &comm;
    }
  }
  return last;
}

// Marks the rank's last operation as unfinished, as if it had not returned from the call in which
// it failed.
void reopen_last_call(RankSnapshot& rank) {
  if (rank.ended_well) return;  // it returned from all of its calls
  rank.life = Life::kUnknown;
  rank.evidence = {};
  Membership* const comm = used_last(rank);
  if (comm == nullptr || comm->recent.back().ordinal != comm->entered || comm->entered == 0) return;
  if (comm->done < comm->entered) return;  // it is unfinished already
  Operation operation;
  operation.ordinal = comm->entered;
  operation.signature = comm->recent.back().signature;
  operation.age = operation.unchanged = comm->idle;
  comm->done = comm->entered - 1;
  comm->pending.push_back(operation);
}

// The lines at which the culprits are, if what keeps them there is the script's own.
std::string script_lines_of(const Case& facts, const Verdict& verdict) {
  std::set<std::string> places;
  for (const base::Rank rank : verdict.culprits) {
    const std::optional<std::uint32_t> at = facts.view.find(rank);
    if (!at || !is_in_script(facts.where[*at].reason)) return "";
    if (facts.where[*at].place.empty()) return "";
    places.insert(facts.where[*at].place);
  }
  return lines_text(places);
}

Verdict judge(const FleetSnapshot& fleet, Verdict (*chosen)(const Case&)) {
  const FleetView view(fleet);
  std::vector<const Evidence*> evidence;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    evidence.push_back(&view.rank(at).evidence);
  }
  const Stacks stacks = read_stacks(evidence);
  std::vector<bool> elsewhere;
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    const RankSnapshot& rank = view.rank(at);
    elsewhere.push_back(is_elsewhere(stacks.where[at].reason) || rank.silent || rank.halted);
  }
  const WaitGraph graph = WaitGraph::of(view, elsewhere);
  const Case facts{.view = view, .where = stacks.where, .same = stacks.same, .graph = graph};
  Verdict verdict = chosen(facts);
  if (!verdict.culprits.empty()) verdict.script_line = script_lines_of(facts, verdict);
  make_printable(verdict);
  return verdict;
}

}  // namespace

Verdict analyze(const FleetSnapshot& fleet) { return judge(fleet, decide); }

Verdict analyze_failed(FleetSnapshot fleet) {
  for (RankSnapshot& rank : fleet.ranks) reopen_last_call(rank);
  return judge(fleet, decide_failed);
}

}  // namespace robustrun::tracer
