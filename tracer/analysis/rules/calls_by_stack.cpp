// R2 without any record: no operation is known to be unfinished, and stacks show some ranks inside
// calls of torch.distributed while others are in the script. This also covers point-to-point
// operations over gloo, which torch does not record, and ranks that wait for the creation of a
// process group.
//
// A stack shows one moment, and which send matches which receive is unknown. So the verdict is
// inferred, and the watch that looks repeatedly decides whether it lasts
// (supervisor/watch/hang_watch.h).

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>

#include "base/core/text.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/wait_edges.h"

namespace robustrun::tracer {
namespace {

const ThreadStack* main_python(const Evidence& evidence) {
  for (const ThreadStack& stack : evidence.stacks) {
    if (stack.is_main && !stack.is_native && !stack.frames.empty()) return &stack;
  }
  return nullptr;
}

// The function of torch.distributed that the script called: "recv", "batch_isend_irecv".
std::string function_of(const ThreadStack& stack) {
  std::string function;
  for (const Frame& frame : stack.frames) {
    if (frame.file.find("torch/distributed/distributed_c10d.py") != std::string::npos) {
      function = frame.function.substr(0, kNameBytes);
    }
  }
  return function;
}

// The call in the innermost line if it is C++ and so has no frame: "request.wait()".
std::string call_of(const ThreadStack& stack) {
  const auto frame =
      std::ranges::find_if(stack.frames, [](const Frame& f) { return !f.call.empty(); });
  return frame == stack.frames.end() ? "" : frame->call.substr(0, kNameBytes);
}

// Whether calls of `function` appear in the rank's record. Then the record counts, and the stack is
// of an earlier or later moment.
bool is_recorded(const RankSnapshot& rank, std::string_view function) {
  constexpr std::string_view kUnrecorded[] = {"send",
                                              "recv",
                                              "send_object_list",
                                              "isend",
                                              "irecv",
                                              "recv_object_list",
                                              "batch_isend_irecv"};
  if (std::ranges::find(kUnrecorded, function) != std::end(kUnrecorded)) return false;
  return std::ranges::any_of(
      rank.comms, [](const Membership& m) { return m.counts_completion && m.entered > 0; });
}

// The call in which the rank waits: "recv at p2p.py:33: dist.recv(x, src=1)"; empty: none.
std::string waiting_at(const Case& facts, std::uint32_t at) {
  const Whereabouts& where = facts.where[at];
  const ThreadStack* const stack = main_python(facts.view.rank(at).evidence);
  if (stack == nullptr) return "";
  const bool is_inside =
      where.reason == Reason::kCommunication || where.reason == Reason::kControlPlane;
  const std::string call = call_of(*stack);
  const bool is_waiting = where.reason == Reason::kUserCode &&
                          !stack->frames.front().call.empty() &&
                          call.find("wait(") != std::string::npos;
  if (!is_inside && !is_waiting) return "";
  const bool is_call = where.reason == Reason::kCommunication;
  if (is_call && is_recorded(facts.view.rank(at), function_of(*stack))) return "";
  std::string text = is_inside ? function_of(*stack) : call;
  if (text.empty()) text = words_of(where.reason);
  if (!where.place.empty()) text += " at " + where.place;
  if (is_inside && !call.empty()) text += ": " + call;
  return text;
}

// The time since the last step of any rank.
base::Nanos without_steps(const FleetView& view) {
  base::Nanos shortest = base::Nanos::max();
  for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
    shortest = std::min(shortest, view.rank(at).step_age.value_or(base::Nanos{}));
  }
  return view.rank_count() == 0 ? base::Nanos{} : shortest;
}

struct Ranks {
  std::vector<std::uint32_t> waiting;
  std::vector<std::string> calls;  // the calls that these wait in
  std::vector<std::uint32_t> out;  // dead or stopped
  std::vector<std::uint32_t> plain, loader, phase;
  bool is_unclear = false;  // there are ranks whose stacks do not show what they do
};

Ranks sort_ranks(const Case& facts) {
  Ranks ranks;
  for (std::uint32_t at = 0; at < facts.view.rank_count(); ++at) {
    const Reason reason = facts.where[at].reason;
    if (is_out(facts.view, at)) {
      ranks.out.push_back(at);
    } else if (std::string call = waiting_at(facts, at); !call.empty()) {
      ranks.waiting.push_back(at);
      ranks.calls.push_back(std::move(call));
    } else if (reason == Reason::kDataLoader) {
      ranks.loader.push_back(at);
    } else if (is_long_phase(reason)) {
      ranks.phase.push_back(at);
    } else if (is_in_script(reason)) {
      ranks.plain.push_back(at);
    } else {
      ranks.is_unclear = true;
    }
  }
  return ranks;
}

struct Accused {
  Finding finding = Finding::kUndecided;
  std::vector<std::uint32_t> ats;
};

Accused accused_of(const Case& facts, Ranks& ranks) {
  if (!ranks.out.empty()) {
    const bool is_dead = facts.view.is_dead(ranks.out.front());
    std::erase_if(ranks.out, [&](auto at) { return facts.view.is_dead(at) != is_dead; });
    return {is_dead ? Finding::kDied : Finding::kStopped, ranks.out};
  }
  if (!ranks.plain.empty()) {
    // A rank that is moving may be about to arrive.
    std::vector<std::uint32_t> still = ranks.plain;
    std::erase_if(still, [&](auto at) { return is_moving(facts.view.rank(at).evidence); });
    return {Finding::kNeverEntered, still.empty() ? ranks.plain : still};
  }
  if (!ranks.loader.empty()) return {Finding::kInputStall, ranks.loader};
  if (!ranks.phase.empty()) return {Finding::kLongPhase, ranks.phase};
  return {};
}

std::string calls_text(const Case& facts, const Ranks& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(ranks.waiting.size(), kCallsNamed); ++i) {
    parts.push_back(fmt::format("rank {} waits in {}", facts.view.rank(ranks.waiting[i]).rank.value,
                                ranks.calls[i]));
  }
  if (parts.size() < ranks.waiting.size()) {
    parts.push_back(fmt::format("and {} more wait", ranks.waiting.size() - parts.size()));
  }
  return base::join(parts, ", ");
}

// The lines of all ranks, if each waits in a call that its stack names, and these calls cannot be
// the sides of one operation: all receive, all send, or they differ. Else empty, as the network may
// be the cause.
std::string lines_of_all(const Case& facts, const Ranks& ranks) {
  constexpr std::string_view kReceives[] = {"recv", "recv_object_list"};
  constexpr std::string_view kSends[] = {"send", "send_object_list"};
  constexpr std::string_view kBoth = "batch_isend_irecv";
  if (ranks.waiting.size() < facts.view.rank_count()) return "";
  std::set<std::string, std::less<>> functions;
  std::set<std::string> places;
  for (const std::uint32_t at : ranks.waiting) {
    const Whereabouts& where = facts.where[at];
    if (where.reason != Reason::kCommunication || where.place.empty()) return "";
    functions.insert(function_of(*main_python(facts.view.rank(at).evidence)));
    places.insert(where.place);
  }
  const auto is_any_in = [&](std::span<const std::string_view> names) {
    return std::ranges::any_of(names, [&](auto name) { return functions.contains(name); });
  };
  const bool receives = is_any_in(kReceives), sends = is_any_in(kSends);
  if ((receives && sends) || functions.contains(kBoth) || functions.contains("")) return "";
  return receives || sends || functions.size() > 1 ? lines_text(places) : "";
}

}  // namespace

std::optional<Verdict> rule_calls_by_stack(const Case& facts) {
  const FleetView& view = facts.view;
  if (!facts.graph.waits().empty() || view.rank_count() < 2) return std::nullopt;
  Ranks ranks = sort_ranks(facts);
  if (ranks.waiting.empty()) return std::nullopt;
  const Accused accused = accused_of(facts, ranks);
  const base::Nanos lasting = without_steps(view);
  Verdict verdict;
  if (accused.ats.empty() || accused.ats.size() * 2 > view.rank_count()) {
    verdict.finding = Finding::kUndecided;
    verdict.script_line = lines_of_all(facts, ranks);
    verdict.sentence =
        fmt::format("no operation is recorded; {}{}", calls_text(facts, ranks), for_text(lasting));
    for (std::uint32_t at = 0; at < view.rank_count(); ++at) {
      verdict.is_moving |= is_moving(view.rank(at).evidence);
    }
    if (std::string stacks = stacks_text(facts); !stacks.empty()) {
      verdict.evidence.push_back(std::move(stacks));
    }
  } else {
    std::vector<Blame> blames;
    for (const std::uint32_t at : accused.ats) {
      blames.push_back({at, Guilt::kAbsent, 0, 0, {}, kNoWait});
    }
    Accusation made = accuse(facts, accused.finding, blames);
    verdict = made.verdict;
    verdict.confidence = Confidence::kInferred;
    const bool are_out = !ranks.out.empty();
    const std::string what =
        accused.finding == Finding::kStopped ? made.choose("is stopped", "are stopped")
        : are_out                            ? made.choose("has ended", "have ended")
                  : fmt::format("{} not reached the calls that the others wait in",
                                made.choose("has", "have"));
    verdict.sentence = fmt::format("{} {}{}", made.named, what, for_text(lasting));
    if (!are_out) verdict.sentence += whereabouts_text(facts, made);
    verdict.sentence += "; " + calls_text(facts, ranks);
  }
  verdict.victims = global_ranks(view, ranks.waiting);
  verdict.lasting = lasting;
  verdict.by_stacks = true;
  return verdict;
}

}  // namespace robustrun::tracer
