#pragma once
// How `robustrun ls` shows runs. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/core/clock.h"

namespace robustrun::cli {

enum class RunLife : std::uint8_t {
  kLive,        // a supervisor on this machine answers
  kEnded,       // the journal has its end
  kUnattended,  // the supervisor is dead, or on another machine
};

struct RunRow {
  std::string id;
  std::string directory;
  RunLife life = RunLife::kEnded;
  std::string state;                      // live: the job's state in words
  std::string host;                       // of the supervisor; empty: not known
  std::optional<std::int32_t> exit_code;  // ended
  bool was_stopped = false;               // by an order, a signal or a time limit
  std::string program;
  std::uint32_t nodes = 0;                // with ranks, in the last group
  std::uint32_t workers = 0;
  base::Nanos age{};                      // since the start
  std::optional<std::int64_t> step;       // the script's own number, or the count of steps
  std::uint32_t incidents = 0;
  std::uint64_t bytes = 0;                // of the run directory
  std::uint32_t starts = 1;  // of its Slurm job; 1: the job was never queued again
  std::string trouble;  // why the journal cannot be read; if set, only id and directory are known
};

// A line for each, in the order given, under a heading.
[[nodiscard]] std::string runs_text(std::span<const RunRow> rows);
// {"runs": [...]}; ages in seconds.
[[nodiscard]] std::string runs_json(std::span<const RunRow> rows);

}  // namespace robustrun::cli
