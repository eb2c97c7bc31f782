#pragma once
// Records when the stages of this node's part of a start began and ended, and decides when they are
// reported.
//
// Part of the NodeContext, on the agent's loop. The agent's own stages are reported by begin() and
// end(); those of workers come from their records. The supervisor gets an attempt's stages once all
// workers have done a step, when the attempt ends before that, and after kStagesReportedAfter:
// two messages at most, however many workers there are. The stage under way is reported as news
// when it changes, for the console. Pure but for the clock.

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

// An attempt whose workers have not all done a step by then is reported nevertheless.
inline constexpr std::chrono::seconds kStagesReportedAfter{300};
// Between two news messages; but the end of a start is reported at once.
inline constexpr std::chrono::seconds kStageNewsEvery{1};

// The parts of one agent stage, if it has several.
enum class StagePart : std::uint8_t { kWhole, kCode, kFiles };

class StageClock {
 public:
  explicit StageClock(const base::Clock& clock) : clock_(clock) {}

  // A stage of the agent: an image, an environment, imports that its workers share (which then
  // count as the first part of theirs). Before the first attempt and between attempts it belongs to
  // the next one. It lasts while some part of it is under way; gaps between parts do not count. A
  // part that is begun twice counts from the first begin; an end without a begin is ignored.
  void begin(wire::StageName stage, StagePart part = StagePart::kWhole);
  void end(wire::StageName stage, StagePart part = StagePart::kWhole);

  void begin_attempt(base::Attempt attempt, std::size_t workers);
  // `moments`: what the worker's record says now.
  void take(base::LocalRank worker, const WorkerMoments& moments);
  // The message to send now, if any.
  [[nodiscard]] std::optional<wire::NodeStages> due();
  // The stage that the start is in, with those of its workers, if that differs from the last news
  // and kStageNewsEvery has passed since them.
  [[nodiscard]] std::optional<wire::StageNews> news();
  // The last news may be lost, or the supervisor is another one: it is due again.
  void forget_news();
  // No worker is left: the stages that were not reported.
  [[nodiscard]] std::optional<wire::NodeStages> end_attempt();
  // Every worker of the attempt has done a step.
  [[nodiscard]] bool all_stepped() const;

 private:
  struct Own {
    std::optional<base::Nanos> begin, end;  // of all parts; no end: a part is under way
    base::Nanos since{};  // begin of the current interval
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
  bool under_way_ = false;  // the attempt's last report was not sent
  bool reported_late_ = false;
  wire::StageNews last_news_;
  base::Nanos last_news_at_{};
};

}  // namespace robustrun::agent
