#pragma once
// The analyzer's answer: which ranks or links block the job, and the evidence. Plain data, kept in
// the journal and shown.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "tracer/analysis/operation.h"

namespace robustrun::tracer {

// What was found; the comment names the rule of docs/diagnosis.md. Append only: numbers are in
// journals.
enum class Finding : std::uint8_t {
  kNothing,  // no rank is blocked
  kDied,  // R1
  kStopped,  // R1b: frozen from outside (SIGSTOP, debugger, cgroup)
  kNeverEntered,  // R2
  kGpuBeforeKernel,  // R3: the rank's GPU has not reached the operation
  kGpuInKernel,  // R4a
  kLinkStuck,  // R4b
  kProxyStuck,  // R4c
  kLeftBehind,  // R5: the rank has not finished an operation that peers have finished
  kMismatch,  // R6
  kOrderInversion,  // R6b
  kSlowRank,  // R7
  kSlowLink,  // R8
  kLinkDown,  // R8b
  kInputStall,  // R9
  kLongPhase,  // R10: checkpoint, evaluation, first compilation; not a fault
  kGroupFailure,  // R11: most ranks of a node
  kUndecided,  // ranks are blocked; it is unknown which rank or link blocks them
  kNotEnded,  // R12: all scripts have returned, and some processes do not end
};
inline constexpr std::uint8_t kFindings = 19;
[[nodiscard]] std::string_view rule_of(Finding finding);  // "R2"; empty for kNothing and kUndecided
[[nodiscard]] std::string_view to_string(Finding finding);  // "never entered", …
[[nodiscard]] bool is_slowness(Finding finding);  // R7, R8: the job makes progress

enum class Confidence : std::uint8_t { kNone, kInferred, kMajority, kExact };
[[nodiscard]] std::string_view to_string(Confidence confidence);

// A link, from the sending to the receiving rank; global ranks.
struct Edge {
  base::Rank from;
  base::Rank to;
  friend auto operator<=>(const Edge&, const Edge&) = default;
  template <class V>
  void fields(V& v) {
    v(1, "from", from);
    v(2, "to", to);
  }
};

struct Alternative {
  Finding finding = Finding::kNothing;
  std::string sentence;
  template <class V>
  void fields(V& v) {
    v(1, "finding", finding);
    v(2, "sentence", sentence);
  }
};

struct Verdict {
  Finding finding = Finding::kNothing;
  Confidence confidence = Confidence::kNone;
  // Ascending. Empty if undecided, or if no rank in particular is to blame but, for example, a
  // link. A verdict about links may have culprits, too: ranks at their ends.
  std::vector<base::Rank> culprits;
  std::vector<std::string> nodes;  // the culprits' nodes, or the nodes to blame as a whole
  std::vector<Edge> edges;  // the links to blame
  std::vector<base::Rank> victims;  // ranks that wait for the culprits; ascending
  std::uint64_t comm = 0;  // key of the communicator concerned; 0: none in particular
  std::string group;  // its name for people: "dp_2", "default_pg"
  std::uint64_t ordinal = 0;  // the unfinished operation; 0: none
  Signature signature;  // its signature, as most members have it
  base::Nanos lasting{};  // how long ranks have been blocked
  // The culprit uses CPU time, does I/O, or its stack changes: it may still go on by itself.
  bool is_moving = false;
  double lost_share = 0;  // of slowness: lost part of the group's time, 0 to 1; 0: unknown
  // Where all culprits are: "load (train.py:87), data loader"; empty: at different places, or
  // unknown. Used to compare verdicts of one attempt.
  std::string place;
  // The lines of the script at which the culprits are, if the script itself keeps each of them
  // there: "train.py:87", or "train.py:30, train.py:41". Without a culprit: the lines of all ranks,
  // if these wait for each other in calls that cannot match. Empty: a device, the network or
  // storage may be the cause.
  std::string script_line;
  bool by_stacks = false;  // based on stacks only: the verdict may hold only for a moment
  // All other ranks wait for one rank that only sleeps, or waits for a lock, in a line of the
  // script.
  bool is_still = false;
  // Of kNotEnded: the culprits' exit handlers have run, so that killing the processes loses
  // nothing.
  bool is_finished = false;
  // One line for the terminal, without "hang: " or "slow: ".
  std::string sentence;
  std::vector<std::string> evidence;  // most significant first
  Alternative runner_up;  // kNothing: none
  template <class V>
  void fields(V& v) {
    v(1, "finding", finding);
    v(2, "confidence", confidence);
    v(3, "culprits", culprits);
    v(4, "nodes", nodes);
    v(5, "edges", edges);
    v(6, "victims", victims);
    v(7, "comm", comm);
    v(8, "group", group);
    v(9, "ordinal", ordinal);
    v(10, "signature", signature);
    v(11, "lasting", lasting);
    v(12, "is_moving", is_moving);
    v(13, "sentence", sentence);
    v(14, "evidence", evidence);
    v(15, "runner_up", runner_up);
    v(16, "place", place);
    v(17, "lost_share", lost_share);
    v(30, "script_line", script_line);
    v(31, "by_stacks", by_stacks);
    v(32, "is_still", is_still);
    v(33, "is_finished", is_finished);
  }
};

}  // namespace robustrun::tracer
