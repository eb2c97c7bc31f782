#pragma once
// Who holds the others up, and how we know: the analyzer's answer. Plain data, journaled and shown.

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
  kNothing,  // nobody waits
  kDied,  // R1
  kStopped,  // R1b: frozen from outside (SIGSTOP, debugger, cgroup)
  kNeverEntered,  // R2
  kGpuBeforeKernel,  // R3: its GPU has not reached the operation
  kGpuInKernel,  // R4a
  kLinkStuck,  // R4b
  kProxyStuck,  // R4c
  kLeftBehind,  // R5: peers have completed what it has not
  kMismatch,  // R6
  kOrderInversion,  // R6b
  kSlowRank,  // R7
  kSlowLink,  // R8
  kLinkDown,  // R8b
  kInputStall,  // R9
  kLongPhase,  // R10: checkpoint, evaluation, first compile: no fault
  kGroupFailure,  // R11: most ranks of a node or switch
  kUndecided,  // somebody waits; what is known does not say for whom
};
inline constexpr std::uint8_t kFindings = 18;
[[nodiscard]] std::string_view rule_of(Finding finding);  // "R2"; empty for the two without
[[nodiscard]] std::string_view to_string(Finding finding);  // "never entered", …
[[nodiscard]] bool is_slowness(Finding finding);  // R7, R8: the job goes on

enum class Confidence : std::uint8_t { kNone, kInferred, kMajority, kExact };
[[nodiscard]] std::string_view to_string(Confidence confidence);

// From the rank that sends to the one that receives, global ranks.
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
  std::vector<base::Rank> culprits;  // ascending; may be empty: a link, or undecided
  std::vector<std::string> nodes;  // of the culprits, or those to blame as a whole
  std::vector<Edge> edges;
  std::vector<base::Rank> victims;  // who waits for them, ascending, without them
  std::uint64_t comm = 0;  // where it shows; 0: nowhere in particular
  std::string group;  // its name for people: "dp_2", "default_pg"
  std::uint64_t ordinal = 0;  // the operation that is not done; 0: none
  Signature signature;  // of it, as most members have it
  base::Nanos lasting{};  // since then somebody waits
  // The culprit uses processors, reads or writes, or its stack changes: it may come by itself.
  bool is_moving = false;
  double lost_share = 0;  // of what is slow: of the group's time, 0 to 1; 0: not known
  std::string place;  // where the culprits are: "train.py:87 data loader"; empty: not in one place
  // The line of the script's own at which the culprits are kept, by themselves; empty: they are in
  // different ones, or a device, the network or storage may be what keeps them.
  std::string script_line;  // "train.py:87"
  bool by_stacks = false;  // nothing but stacks shows who waits: it may be so for a moment only
  // One line for the terminal, without "hang: " or "slow: ".
  std::string sentence;
  std::vector<std::string> evidence;  // most telling first
  Alternative runner_up;  // kNothing: there is none
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
  }
};

}  // namespace robustrun::tracer
