#pragma once
// Records when the stages of a start began and ended on this node, and decides when they are
// reported.
//
// Part of the NodeContext, on the agent's loop. begin() and end() record the agent's own stages;
// the workers' stages come from their records. The supervisor gets an attempt's stages (NodeStages)
// once all workers have done a step, or when the attempt ends before that. It gets them after
// kStagesReportedAfter, too, if the workers have not all done a step by then. For the console it
// also gets the current stage whenever that changes (StageNews). Pure but for the clock.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "agent/node/worker_stages.h"
#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/stages.h"

namespace robustrun::agent {

inline constexpr std::chrono::seconds kStagesReportedAfter{300};
// Between two StageNews; but the end of a start is reported at once.
inline constexpr std::chrono::seconds kStageNewsEvery{1};

// The parts of a stage that has several.
enum class StagePart : std::uint8_t { kWhole, kCode, kFiles };

class StageClock {
 public:
  explicit StageClock(const base::Clock& clock) : clock_(clock) {}

  // A stage of the agent begins or ends: the image, the environment, or imports that workers share.
  // Shared imports count as the first part of the workers' imports. Stages before an attempt belong
  // to that attempt. A stage lasts while some part of it lasts; gaps between parts do not count. A
  // part that is begun twice counts from the first begin. An end without a begin is ignored.
  void begin(wire::StageName stage, StagePart part = StagePart::kWhole);
  void end(wire::StageName stage, StagePart part = StagePart::kWhole);

  void begin_attempt(base::Attempt attempt, std::size_t workers);
  // `moments`: from the worker's record as it is now.
  void take(base::LocalRank worker, const WorkerMoments& moments);
  // The message to send now, if any.
  [[nodiscard]] std::optional<wire::NodeStages> due();
  // The current stage of the start and of each worker, if it is to be sent now: it has changed, and
  // kStageNewsEvery has passed since the last StageNews.
  [[nodiscard]] std::optional<wire::StageNews> news();
  // The last StageNews may be lost, or there is a new supervisor: the next news() counts as
  // changed.
  void forget_news();
  // No worker is left. Returns the attempt's stages if due() has not returned the final report.
  [[nodiscard]] std::optional<wire::NodeStages> end_attempt();
  // Every worker of the attempt has done a step.
  [[nodiscard]] bool all_stepped() const;

 private:
  struct Own {
    std::optional<base::Nanos> begin, end;  // of all parts; no end: some part still lasts
    base::Nanos since{};  // start of the current interval
    base::Nanos took{};  // sum of earlier intervals
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
  bool under_way_ = false;  // the attempt's final report was not made yet
  bool reported_late_ = false;
  wire::StageNews last_news_;
  base::Nanos last_news_at_{};
};

}  // namespace robustrun::agent
