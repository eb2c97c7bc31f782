#pragma once
// Why a step of the policy cannot be taken now: data for decisions, and the sentence for people.
// Pure.

#include <cstdint>
#include <string>

namespace robustrun::supervisor {

struct Obstacle {
  enum class Kind : std::uint8_t {
    kNone,              // there is no obstacle
    kNoSuspect,         // no machine is known to blame
    kTooFewMachines,    // `left` machines would be left, and the run needs `needed`
    kNotTheMachine,     // the fault looks like the script's or the data's
    kWorkersFinished,   // a restart would lose what finished workers have done
    kNothingToCompare,  // there is only one machine
    kTooFewToReplay,    // `left` machines; a replay in groups of `unit` takes `needed`
    kNotUpdated,        // the run has had one version only
    kOtherVersionNext,  // the next attempt gets another version anyway
    kNoOlderVersion,    // no older version has worked
  };
  Kind kind = Kind::kNone;
  std::uint64_t left = 0, needed = 0, unit = 0;  // machines

  explicit operator bool() const { return kind != Kind::kNone; }
  bool operator==(const Obstacle&) const = default;
};

// "2 other machines are there, and 3 are needed"; empty for kNone.
[[nodiscard]] std::string in_words(const Obstacle& obstacle);

}  // namespace robustrun::supervisor
