#pragma once
// When the stages of this node's part of a start began and ended, and when that is to be told.
//
// Part of the NodeContext, on the agent's loop. Stages of the agent itself are told by begin() and
// end() of whoever does them; those of workers come from their records. The supervisor hears of an
// attempt once all workers have done a step, when the attempt ends before that, and after
// kStagesToldAfter: three messages at most, however many workers there are. What it is at meanwhile
// is told as it changes, for people. Pure but for the clock.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "agent/node/worker_stages.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/stages.h"

namespace robustrun::agent {

// What a stage of the agent is made of, where that is more than one thing.
enum class StagePart : std::uint8_t { kWhole, kCode, kFiles };

class StageClock {
 public:
  explicit StageClock(const base::Clock& clock) : clock_(clock) {}

  // Of the agent: an image, an environment. Before the first attempt and between two it belongs to
  // the next one. It takes as long as some part of it goes on: what lies between two of them is not
  // its own. A part that is begun twice goes on from the first begin; an end without a begin is
  // ignored.
  void begin(wire::StageName stage, StagePart part = StagePart::kWhole);
  void end(wire::StageName stage, StagePart part = StagePart::kWhole);

  void begin_attempt(base::Attempt attempt, std::size_t workers);
  // What the worker's record says now.
  void take(base::LocalRank worker, const WorkerMoments& moments);
  // What is to be told now.
  [[nodiscard]] std::optional<wire::NodeStages> due();
  // What the start is at, if that is another stage than was said last.
  [[nodiscard]] std::optional<wire::StageNews> news();
  // No worker is left: what was not told.
  [[nodiscard]] std::optional<wire::NodeStages> end_attempt();
  // Every worker of the attempt has done a step.
  [[nodiscard]] bool all_stepped() const;

 private:
  struct Own {
    std::optional<base::Nanos> begin, end;  // of all; no end: a part goes on
    base::Nanos since{};  // what goes on now
    base::Nanos took{};  // of what went before
    unsigned going_on = 0;  // a bit for each part
  };
  [[nodiscard]] std::optional<wire::NodeStages> all() const;
  [[nodiscard]] wire::StageNews current() const;

  const base::Clock& clock_;
  std::array<Own, wire::kStageNames> own_;  // by StageName
  std::map<base::LocalRank, WorkerMoments> workers_;
  base::Attempt attempt_;
  std::size_t workers_expected_ = 0;
  base::Nanos began_{};
  bool under_way_ = false;  // an attempt whose last word was not said
  bool told_late_ = false;
  wire::StageNews said_;  // as news
  base::Nanos said_at_{};
};

}  // namespace robustrun::agent
