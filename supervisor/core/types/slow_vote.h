#pragma once
// Which machine slows a job down, and whether a restart without it is worth its price. Pure data
// and arithmetic; core/job/blame/slow_machines.cpp asks for rounds, counts them and decides.
//
// The vote follows ByteRobust's rule for fail-slow (arXiv 2509.16293, section 5): all workers are
// looked at in five rounds, ten seconds apart, and the machine that is named most often is
// replaced. Here it must be named in more than half of the rounds, and the gain must exceed the
// cost.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

// The number of rounds in which a machine was named.
struct SlowFlags {
  base::NodeId node;
  std::uint32_t rounds = 0;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "rounds", rounds);
  }
};

// The vote of one attempt; a new attempt begins with an empty vote.
struct SlowVote {
  enum class Phase : std::uint8_t {
    kClosed,  // no vote until the next verdict
    kVoting,  // rounds are requested and counted
    kDraining,  // `named` will be replaced at `drain_at`, unless the job recovers
  };
  Phase phase = Phase::kClosed;
  std::uint32_t asked = 0, heard = 0;  // rounds, including the verdict that began the vote
  std::vector<SlowFlags> flags;  // ascending by node
  base::Nanos usual{}, period{};  // duration of a step: before the job became slow, and now
  std::string sentence;  // of the newest verdict that named a machine
  std::vector<base::NodeId> named;  // result of the vote, ascending
  base::Nanos drain_at{};
  std::vector<base::NodeId> kept;  // machines that stay; this was reported with the reason
  // `named` stay until ranks have copies on other nodes, but no longer than until this time.
  std::optional<base::Nanos> unsecured_until{};

  // Counts a round that names these machines.
  void count(const std::vector<base::NodeId>& machines);
  // Machines named in more than half of `rounds`.
  [[nodiscard]] std::vector<base::NodeId> majority(std::uint32_t rounds) const;
  [[nodiscard]] std::uint32_t rounds_of(base::NodeId node) const;
  // Whether steps take at most kPaceRecovered times as long as before.
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

// What the restarts of this run have cost: the time from the failure until the steps done before it
// were done again. Until that is known, and if steps have no numbers: the time until the first
// step. Keeps the newest kRestartPricesKept.
struct RestartPrices {
  std::optional<base::Nanos> began;  // time of the failure whose price is not final yet
  bool runs = false;  // the attempt after that failure has done a step
  std::vector<base::Nanos> prices;

  // Ignored if no step was done since the failure before: both together have one price.
  void note_failure(base::Nanos now);
  // `reached`: when the step was done, by the workers' records; clamped to the time between the
  // failure and `now`.
  void note_first_step(base::Nanos reached, base::Nanos now);
  void note_caught_up(base::Nanos reached, base::Nanos now);
  // nullopt: no attempt after a failure has done a step.
  [[nodiscard]] std::optional<base::Nanos> median() const;

  template <class V>
  void fields(V& v) {
    v(1, "began", began);
    v(2, "runs", runs);
    v(3, "prices", prices);
  }
};

struct SlowBalance {
  double lost = 0;  // share of the time that is lost: 0 to 1
  base::Nanos remaining{};  // until the job's end, at the present pace
  base::Nanos gain{};  // how much of `remaining` the former pace would save
  base::Nanos price{};  // of a restart
  [[nodiscard]] bool is_worth_it() const { return gain > price; }
};

// `usual`, `period`: duration of a step before and now, above 0. The other two: 0 or more.
[[nodiscard]] SlowBalance weigh(base::Nanos usual, base::Nanos period, base::Nanos remaining,
                                base::Nanos price);

// How long the job will go on, and the source of this estimate.
struct Remaining {
  base::Nanos time{};
  const char* because = "";  // "--time-limit"
};

// The shortest known estimate; without one, SlowPolicy::assumed_remaining. `running_for`: time
// since the run's start. `steps`: steps done towards spec.stop_after_steps, counted `ago` before
// now; none: unknown. `period`: duration of a step now.
[[nodiscard]] Remaining remaining_time(const JobSpec& spec, base::Nanos running_for,
                                       std::optional<std::uint64_t> steps, base::Nanos ago,
                                       base::Nanos period);

}  // namespace robustrun::supervisor
