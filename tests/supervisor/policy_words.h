#pragma once
// A policy with every ladder, rows of faults that climb them, and failures that look like those.

#include <string>
#include <utility>

#include "tests/supervisor/job_words.h"

namespace robustrun::supervisor::test {

inline FaultRow row_of(const std::string& text, Layer layer, Confidence confidence,
                       FirstAction action) {
  FaultRow row;
  row.name = row.symptom = "it is " + text;
  row.texts = {text};
  row.layer = layer;
  row.confidence = confidence;
  row.action = action;
  return row;
}

// Much as configs/policy.toml.
inline Policy full_policy() {
  Policy policy;
  policy.ladders = {
      {FirstAction::kEvict, {{Step::kEvict, 0}, {Step::kCheck, 1}, {Step::kRestart, 0}}},
      {FirstAction::kTolerate,
       {{Step::kRestart, 2}, {Step::kEvict, 1}, {Step::kCheck, 1}, {Step::kRestart, 0}}},
      {FirstAction::kRestart,
       {{Step::kRestart, 2}, {Step::kEvict, 1}, {Step::kCheck, 1}, {Step::kRestart, 0}}},
      {FirstAction::kRollBack, {{Step::kRollBack, 1}, {Step::kRestart, 0}}},
      {FirstAction::kCheck,
       {{Step::kCheck, 1}, {Step::kRestart, 1}, {Step::kEvict, 1}, {Step::kRestart, 0}}},
      {FirstAction::kGiveUp, {{Step::kRestart, 1}, {Step::kGiveUp, 0}}},
      {FirstAction::kReplay, {{Step::kReplay, 1}, {Step::kRestart, 1}, {Step::kGiveUp, 0}}}};
  return policy;
}

// A line with the word calls for the action: "broken" for evict, "flaps" for tolerate, "odd" for
// check, "wrong" for roll back, "hopeless" for give up, "drifts" for replay.
inline std::vector<FaultRow> policy_faults() {
  return {row_of("broken", Layer::kInfrastructure, Confidence::kHigh, FirstAction::kEvict),
          row_of("flaps", Layer::kInfrastructure, Confidence::kHigh, FirstAction::kTolerate),
          row_of("odd", Layer::kUnclear, Confidence::kMedium, FirstAction::kCheck),
          row_of("wrong", Layer::kUserCode, Confidence::kHigh, FirstAction::kRollBack),
          row_of("hopeless", Layer::kUserCode, Confidence::kHigh, FirstAction::kGiveUp),
          row_of("drifts", Layer::kUnclear, Confidence::kMedium, FirstAction::kReplay)};
}

inline JobSpec policy_spec(std::vector<std::uint32_t> slots, std::uint32_t min, std::uint32_t max) {
  JobSpec spec = group_spec(std::move(slots), min, max);
  spec.policy = full_policy();
  spec.faults = policy_faults();
  return spec;
}

inline WorkerExited says(std::uint32_t attempt, std::uint32_t rank, const std::string& line) {
  WorkerExited exit = exited(attempt, rank, 1);
  exit.stderr_tail = {line};
  return exit;
}

inline NodeHealth notices(const std::string& line) {
  return {NodeHealth::Source::kKernel, "GPU 0", line, 0, false};
}

}  // namespace robustrun::supervisor::test
