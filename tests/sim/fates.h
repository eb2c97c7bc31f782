#pragma once
// What goes wrong in a run, one mishap at a time. Each has a number of its own and is drawn by that
// number alone: a run in which some of them are spared meets the others as before (shrink.h).

#include <fmt/core.h>

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/event_queue.h"

namespace robustrun::sim {

enum class Mishap : std::uint8_t {
  // Of messages; `where`: the channel, 2 · node, and 1 more towards it.
  kLost,
  kLate,
  kTwice,
  // Of agents and machines; `where`: the node.
  kCannotStart,
  kNeverJoins,
  kAgentDies,
  kMachineDies,
  kCutOff,
  kDeaf,
  kNodeEnds,
  kNoPort,
  kFlaps,
  kBreaks,
  kUnfit,
  kUnreached,
  kWarned,
  // Of workers; `where`: the attempt for the first, else the rank.
  kAttemptFails,
  kIgnoresTerm,
  kUnkillable,
  kSlowStart,
  // Of the job as a whole.
  kCheckLost,
  kNeverPlaced,
  kMisplaced,
  kAlarm,
  kSlow,
  kHang,
  kCrash,
  kCrashBeforeActing,
  // What users and schedulers do, planned ahead; `where`: which of them.
  kSignal,
  kUpdate,
  kVolunteer,
};
inline constexpr std::size_t kMishaps = 31;

struct MishapId {
  Mishap what{};
  std::uint32_t where = 0, nth = 0;
  auto operator<=>(const MishapId&) const = default;
};

struct Struck {
  Nanos at{};
  MishapId id;
  bool operator==(const Struck&) const = default;
};

class Fates {
 public:
  // `allowed`: nothing else goes wrong; nullptr: whatever does. It outlives this.
  Fates(std::uint64_t seed, const std::set<MishapId>* allowed) : seed_(seed), allowed_(allowed) {}

  // `at`: for people. A death to come strikes when it is decided, at the launch of the agent.
  bool strikes(Nanos at, Mishap what, std::uint32_t where, double probability) {
    if (probability <= 0) return false;
    const auto kind = static_cast<std::size_t>(what);
    std::vector<std::uint32_t>& seen = seen_[kind];
    if (seen.size() <= where) seen.resize(where + 1);
    const MishapId id{what, where, seen[where]++};
    Dice dice(((seed_ * kMishaps + kind) * 0x9e3779b97f4a7c55U + where) * 0xbf58476d1ce4e5b9U +
              id.nth);
    if (!dice.chance(probability)) return false;
    if (allowed_ != nullptr && !allowed_->contains(id)) return false;
    struck_.push_back({at, id});
    return true;
  }
  [[nodiscard]] const std::vector<Struck>& struck() const { return struck_; }

 private:
  std::uint64_t seed_;
  const std::set<MishapId>* allowed_;
  std::array<std::vector<std::uint32_t>, kMishaps> seen_;  // by kind and place
  std::vector<Struck> struck_;
};

// "a message to n2 is lost (#3)"
inline std::string words_of(const MishapId& id) {
  constexpr std::array<const char*, kMishaps> kWords = {
      "a message {} is lost",
      "a message {} comes late",
      "a message {} comes twice",
      "the agent of n{} cannot be started",
      "the agent of n{} never says hello",
      "the agent of n{} is to die",
      "machine n{} is to die",
      "n{} is to be cut off",
      "the agent of n{} is deaf to stop orders",
      "n{} will be taken away",
      "n{} has no port",
      "n{} notices what may pass",
      "n{} is broken",
      "n{} fails its check",
      "n{} is not reached by others",
      "n{} is warned of by its check",
      "attempt {} fails",
      "rank {} ignores SIGTERM",
      "rank {} cannot be killed",
      "rank {} starts late",
      "a check never ends",
      "a question for places is not answered",
      "a question for places is answered wrongly",
      "a metric is not a number",
      "somebody is slow",
      "workers hang",
      "the supervisor crashes",
      "and before it acted",
      "signal {} of the plan is sent",
      "update {} of the plan is asked for",
      "volunteer {} of the plan comes",
  };
  const std::string where =
      id.what <= Mishap::kTwice
          ? fmt::format("{} n{}", id.where % 2 == 0 ? "of" : "to", id.where / 2)
          : std::to_string(id.where);
  return fmt::format("{} (#{})",
                     fmt::format(fmt::runtime(kWords[static_cast<std::size_t>(id.what)]), where),
                     id.nth + 1);
}

}  // namespace robustrun::sim
