#pragma once
// Who slows a job down, and whether a restart without that machine is worth its price. Pure data
// and arithmetic; job_slow.cpp asks, counts and decides.
//
// After ByteRobust's rule for fail-slow (arXiv 2509.16293, section 5): looks at all workers in five
// rounds, ten seconds apart; who is named most often goes. Here that must be more than half of the
// rounds, and what it gains must be more than what it costs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

// In how many rounds a machine was named.
struct SlowFlags {
  base::NodeId node;
  std::uint32_t rounds = 0;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "rounds", rounds);
  }
};

// Of one attempt; a new one begins with an empty vote.
struct SlowVote {
  enum class Phase : std::uint8_t {
    kClosed,  // until the next verdict
    kVoting,  // rounds are asked for and counted
    kDraining,  // `named` will be replaced at `drain_at`, unless the job recovers
  };
  Phase phase = Phase::kClosed;
  std::uint32_t asked = 0, heard = 0;  // rounds, with the verdict that began the vote
  std::vector<SlowFlags> flags;  // ascending by node
  base::Nanos usual{}, period{};  // of the steps: before it became slow, and now
  std::string sentence;  // of the newest verdict that named somebody
  std::vector<base::NodeId> named;  // ascending; by the vote
  base::Nanos drain_at{};
  std::vector<base::NodeId> kept;  // of whom it was said why they stay
  std::optional<base::Nanos> unsecured_until{};  // `named` stay until copies are elsewhere, or then

  // A round that names these machines.
  void count(const std::vector<base::NodeId>& machines);
  // Who was named in more than half of so many rounds.
  [[nodiscard]] std::vector<base::NodeId> majority(std::uint32_t rounds) const;
  [[nodiscard]] std::uint32_t rounds_of(base::NodeId node) const;
  // Steps take at most kPaceRecovered times what they used to.
  [[nodiscard]] bool has_recovered() const;

  template <class V>
  void fields(V& v) {
    v(1, "phase", phase);
    v(2, "asked", asked);
    v(3, "heard", heard);
    v(4, "flags", flags);
    v(5, "usual", usual);
    v(6, "period", period);
    v(7, "sentence", sentence);
    v(8, "named", named);
    v(9, "drain_at", drain_at);
    v(10, "kept", kept);
    v(11, "unsecured_until", unsecured_until);
  }
};

// What the restarts of this run have cost: from the failure until what had been done before was
// done again, or until the first step where steps have no numbers. The newest kRestartPricesKept.
struct RestartPrices {
  std::optional<base::Nanos> began;  // of the failure whose price is not settled
  bool runs = false;  // the attempt after it does steps
  std::vector<base::Nanos> prices;

  void note_failure(base::Nanos now);
  // `reached` comes from the workers' records, and counts only between the failure and `now`.
  void note_first_step(base::Nanos reached, base::Nanos now);
  void note_caught_up(base::Nanos reached, base::Nanos now);
  // None without a restart.
  [[nodiscard]] std::optional<base::Nanos> median() const;

  template <class V>
  void fields(V& v) {
    v(1, "began", began);
    v(2, "runs", runs);
    v(3, "prices", prices);
  }
};

struct SlowBalance {
  double lost = 0;  // share of the time: 0 to 1
  base::Nanos remaining{};  // until the job's end, at the pace it has now
  base::Nanos gain{};  // of the remaining time, with the pace of before
  base::Nanos price{};  // of a restart
  [[nodiscard]] bool is_worth_it() const { return gain > price; }
};

// All of them 0 or more; `usual` and `period` above 0.
[[nodiscard]] SlowBalance weigh(base::Nanos usual, base::Nanos period, base::Nanos remaining,
                                base::Nanos price);

// How long the job goes on, and how that is known.
struct Remaining {
  base::Nanos time{};
  const char* because = "";  // "--time-limit"
};

// `steps`: done of spec.stop_after_steps, when last heard of, `ago`; none: not known.
[[nodiscard]] Remaining remaining_time(const JobSpec& spec, base::Nanos running_for,
                                       std::optional<std::uint64_t> steps, base::Nanos ago,
                                       base::Nanos period);

}  // namespace robustrun::supervisor
