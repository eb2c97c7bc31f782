#pragma once
// The journal of a long run on many nodes, with everything that pictures show.

#include <algorithm>

#include "tests/supervisor/story.h"

namespace robustrun::supervisor::scenarios {

// Each of `incidents` attempts trains for ten minutes, then a worker of the next node in turn is
// killed; after the last restart the run ends well.
inline Story big(std::uint32_t nodes, std::uint32_t slots, std::uint32_t incidents) {
  using Mark = Progress::Mark;
  constexpr double kStage = 900, kTraining = 600'000;
  Story story;
  std::vector<NodeSpec> specs;
  std::vector<GroupMember> members;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::string name = "gpu-" + std::to_string(100 + i);
    specs.push_back({name, "10.0.0.1", slots});
    members.push_back({base::NodeId{i}, name, "10.0.0.1", i * slots, slots});
  }
  story.run(std::move(specs));
  for (std::uint32_t i = 0; i < nodes; ++i) {
    AgentJoined joined{4200, {}, 0};
    joined.asked = kStart + ms(1);
    joined.began = kStart + ms(400);
    story.event(600 + i, joined, i);
  }
  double at = 1000;
  std::int64_t step = 0;
  for (std::uint32_t attempt = 0; attempt <= incidents; ++attempt) {
    story.group(at, attempt, members);
    story.event(at, PortReserved{Attempt{attempt}, 29411, ""});
    Progress first;
    first.attempt = Attempt{attempt};
    first.mark = Mark::kFirstStep;
    first.steps = 1;
    first.step = step;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      for (std::uint32_t j = 0; j < slots; ++j) {
        story.event(at + 10, WorkerStarted{Attempt{attempt}, Rank{i * slots + j}, 4240}, i);
      }
      StartStages told{Attempt{attempt}, {}};
      for (int k = 2; k < static_cast<int>(wire::kStageNames); ++k) {
        const base::Nanos from = kStart + ms(at + 10 + (k - 2) * kStage);
        told.stages.push_back(
            {static_cast<StageName>(k), from, from + ms(kStage), ms(kStage), Rank{i}});
      }
      story.event(at + 8000, told, i);
      first.nodes.push_back({base::NodeId{i}, kStart + ms(at + 6400)});
    }
    first.reached_at = kStart + ms(at + 6500);
    story.event(at + 8000, first);
    for (int minute = 1; minute <= 9; ++minute) {
      step += 100;
      story.progress(at + minute * 60'000, attempt, Mark::kSummary, at + minute * 60'000 - 5,
                     static_cast<std::uint64_t>(minute) * 100, step, 9.0 / (1 + 0.01 * attempt));
      CheckpointNoted saved;
      saved.attempt = Attempt{attempt};
      saved.what = CheckpointNoted::What::kCommitted;
      saved.id.step = static_cast<std::uint64_t>(step);
      saved.count = static_cast<std::uint64_t>(minute);
      story.event(at + minute * 60'000 + 10, saved);
    }
    at += kTraining;
    if (attempt == incidents) break;
    const std::uint32_t victim = attempt % nodes;
    for (std::uint32_t j = 0; j < std::min(slots, 4U); ++j) {
      WorkerExited killed =
          exited(attempt, victim * slots + j, ExitStatus::Kind::kSignaled, 9, at + j);
      for (int line = 0; line < 50; ++line) {
        killed.stderr_tail.push_back("step " + std::to_string(line) +
                                     " loss 2.31 tokens/s 182344 " + std::string(60, '.'));
      }
      killed.error_callstack = "Traceback (most recent call last):\n  File \"train.py\", line 3\n";
      story.event(at + 1 + j, killed, victim);
    }
    story.decide(at + 5, Rule::kWorkerFailed, attempt,
                 "a rank was killed; stopping the other ranks", {"rank 1 on node0: SIGKILL"});
    for (std::uint32_t i = 0; i < nodes; ++i) {
      story.event(at + 900 + i, WorkersGone{Attempt{attempt}, 0, {}, {}}, i);
    }
    story.decide(at + 1000, Rule::kRestart, attempt, "restart: starting all workers again",
                 {"rank 1 on node0: SIGKILL"}, {"no restart: some are left"});
    at += 1001;
  }
  return story.decide(at, Rule::kSucceeded, incidents, "all workers finished").finish(at + 1, 0);
}

}  // namespace robustrun::supervisor::scenarios
