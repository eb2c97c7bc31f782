#pragma once
// tests/fixtures/faults/examples.txt: output of failures of every kind.

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include "supervisor/core/types/worker_events.h"
#include "tests/paths.h"

namespace robustrun::cli::testing {

struct FaultExample {
  std::string name;  // of the row that explains it
  supervisor::WorkerExited exited;
};

// Rank 3 ended with exit code 1 after printing `lines`.
inline supervisor::WorkerExited ended_with(std::vector<std::string> lines, int code = 1) {
  supervisor::WorkerExited exited;
  exited.rank.value = 3;
  exited.code = code;
  exited.stderr_tail = std::move(lines);
  return exited;
}

// As Python prints an uncaught exception.
inline std::vector<std::string> raised(std::string exception, std::vector<std::string> more = {}) {
  std::vector<std::string> lines = {
      "Traceback (most recent call last):", "  File \"/job/train.py\", line 71, in <module>",
      "    main()", std::move(exception)};
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

inline std::vector<std::string> xid(const std::string& rest) {
  return {"[32112.4871] NVRM: Xid (PCI:0000:3b:00): " + rest};
}

inline void take_end(const std::string& how, supervisor::WorkerExited& exited) {
  if (how.starts_with("message ")) {
    exited.error_message = how.substr(8);
  } else if (how.starts_with("exit ")) {
    exited.code = std::stoi(how.substr(5));
  } else {
    exited.kind = base::ExitStatus::Kind::kSignaled;
    exited.code = how == "oom" ? SIGKILL : base::signal_number(how);
    if (how == "oom") exited.oom = supervisor::OomKiller::kCgroup;
  }
}

inline std::vector<FaultExample> fault_examples() {
  std::vector<FaultExample> examples;
  std::ifstream file(in_source("tests/fixtures/faults/examples.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      examples.push_back({line.substr(3), ended_with({})});
    } else if (examples.empty()) {
      continue;  // comment
    } else if (line.starts_with("-- ")) {
      take_end(line.substr(3), examples.back().exited);
    } else {
      examples.back().exited.stderr_tail.push_back(line);
    }
  }
  return examples;
}

}  // namespace robustrun::cli::testing
