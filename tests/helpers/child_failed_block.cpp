// Prints our ChildFailedError block for made-up failures, for tests/python/test_child_failed.py.
//
//   child_failed_block PROGRAM HOST [RANK PID EXITCODE TIME ERROR_FILE MESSAGE CALLSTACK]…
//
// EXITCODE as torchrun has it (minus the signal number), TIME in Unix seconds. HOST is the second
// node; the first one has rank 0 alone, so that ranks and local ranks differ. With --nested as
// PROGRAM's prefix ("--nested:train.py") it prints what goes into our own error file instead.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "supervisor/core/report/child_failed.h"
#include "supervisor/core/report/report.h"

namespace {

using namespace robustrun;
using namespace robustrun::supervisor;

constexpr int kFields = 7;
constexpr std::uint32_t kSlots = 1000;

void add(std::vector<JournalEntry>& entries, base::Nanos at, EventBody body, base::NodeId node) {
  JournalEntry& entry = entries.emplace_back();
  entry.at = at;
  entry.what.emplace<Event>(Event{at, node, base::Generation{1}, std::move(body)});
}

void add_failure(std::vector<JournalEntry>& entries, char** field) {
  const base::Nanos at = std::chrono::seconds(std::atoll(field[3]));
  const int code = std::atoi(field[2]);
  WorkerExited body;
  body.rank = base::Rank{static_cast<std::uint32_t>(std::atoi(field[0]))};
  body.pid = std::atoi(field[1]);
  body.kind = code < 0 ? base::ExitStatus::Kind::kSignaled : base::ExitStatus::Kind::kExited;
  body.code = std::abs(code);
  body.error_file = field[4];
  body.error_message = field[5];
  body.error_callstack = field[6];
  if (!body.error_file.empty()) body.error_timestamp_s = std::atoll(field[3]);
  body.seen_at = at;
  add(entries, at, body, base::NodeId{1});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || (argc - 3) % kFields != 0) return 2;
  std::string program = argv[1];
  const std::string prefix = "--nested:";
  const bool nested = program.starts_with(prefix);
  if (nested) program.erase(0, prefix.size());

  std::vector<JournalEntry> entries;
  RunStarted run;
  run.spec.program = program;
  run.spec.nodes = {{"first", "", 1}, {argv[2], "", kSlots}};
  add(entries, base::Nanos{}, run, base::NodeId{0});
  for (int i = 3; i < argc; i += kFields) add_failure(entries, argv + i);
  entries.emplace_back().what.emplace<Finish>(Finish{1});
  const std::string text = nested ? nested_error_json(entries) : child_failed_block(entries);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
