#pragma once
// One run, ready to start: everything cli/ made of options, environment and files.

#include <string>
#include <vector>

#include "supervisor/core/job_spec.h"
#include "wire/messages.h"

namespace robustrun::supervisor {

struct StreamRoutes {
  wire::StreamRoute out = wire::StreamRoute::kFileAndConsole;
  wire::StreamRoute err = wire::StreamRoute::kFileAndConsole;
};

// How lines of workers look on the console.
struct ConsoleStyle {
  enum class Prefix : std::uint8_t { kNone, kRank, kTemplate };
  Prefix prefix = Prefix::kNone;
  // kTemplate: ${role_name}, ${rank}, ${local_rank} (torchrun's
  // TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE;
  // "[${role_name}${local_rank}]:" for --tee).
  std::string prefix_template;
  bool colour_out = false;   // dim prefixes; never colours the worker's own text
  bool colour_err = false;
};

struct RunRequest {
  JobSpec spec;
  wire::WorkerTemplate workers;
  std::vector<StreamRoutes> routes;       // by local rank; as many as the largest node has slots
  std::string run_directory;              // absolute; made by cli/, 0700
  ConsoleStyle console;
  std::vector<int> end_signals;           // --signals-to-handle: each ends the run
  std::vector<int> forwarded_signals;     // SIGUSR1, SIGUSR2 in native mode
  std::string summary_json;               // path; empty: none
  bool print_report = true;               // summary on stderr at the end (off in compat mode)
  bool print_child_failed = true;         // torchrun's block on stderr
  std::string nested_error_file;          // our own TORCHELASTIC_ERROR_FILE; empty: none
};

// Runs the job to its end and returns robustrun's exit code. One line per failure that keeps it
// from starting goes to stderr (exit code 2 when it is the user's to fix).
int run_job(const RunRequest& request);

}  // namespace robustrun::supervisor
