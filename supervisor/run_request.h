#pragma once
// One run, ready to start: everything cli/ made of options, environment and files.

#include <string>
#include <vector>

#include "launcher/host.h"
#include "launcher/ssh_launcher.h"
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
  bool fold = false;         // lines that many ranks print alike are shown once (--fold-lines)
  bool colour_out = false;   // dim prefixes; never colours the worker's own text
  bool colour_err = false;
};

// Signs of life between supervisor and agents (decisions.md 3 and 5).
struct LeaseTimes {
  base::Nanos interval = std::chrono::seconds(1);        // --heartbeat-interval
  base::Nanos suspect_after = std::chrono::seconds(3);   // --node-suspect-after
  base::Nanos lost_after = std::chrono::seconds(10);     // --node-lost-after
  base::Nanos orphan_grace = std::chrono::seconds(30);   // --orphan-grace
};

// Where agents come from, and how they come in.
struct NetworkPlan {
  enum class Launch : std::uint8_t {
    kSocketPair,   // one agent, on this machine
    kProcesses,    // agents on this machine, over the network all the same
    kSsh,
  };
  Launch launch = Launch::kSocketPair;
  std::vector<launcher::Host> hosts;   // kSsh: by NodeId
  launcher::SshOptions ssh;
  std::string interface;               // --iface; empty: whichever carries the connection
  std::uint16_t port = 0;              // of the control channel; 0: any
  std::string run_id;                  // what agents say they want to join
  std::string secret;                  // shared by people (--secret-file); empty: one is made
  bool insecure = false;               // --insecure-rdzv: whoever reaches the port may join
  bool munge = false;                  // volunteers prove by munge that they are of our user
  std::string build;                   // base/core/build_id.h; empty: not compared
  std::string command_digest;          // of the script and its arguments; empty: not compared
  // What every host counts to know its number of workers, and the interpreter it asks
  // (wire/credential.h); empty where NodeSpec::slots says it.
  std::string count;
  std::string count_interpreter;
  LeaseTimes lease;
};

struct RankRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const RankRange&) const = default;
};

struct RunRequest {
  JobSpec spec;
  wire::WorkerTemplate workers;
  NetworkPlan network;
  std::vector<StreamRoutes> routes;       // by local rank; as many as the largest node has slots
  std::string run_directory;              // absolute; made by cli/, 0700
  ConsoleStyle console;
  std::vector<RankRange> shown_ranks;  // of them alone the console shows output; empty: of all
  std::vector<int> end_signals;  // --signals-to-handle: each ends the run
  std::vector<int> forwarded_signals;  // SIGUSR1, SIGUSR2 in native mode
  std::string summary_json;  // path; empty: none
  bool print_report = true;  // summary on stderr at the end (off in compat mode)
  bool print_child_failed = true;  // torchrun's block on stderr
  std::string nested_error_file;  // our own TORCHELASTIC_ERROR_FILE; empty: none
};

// Returned by run_job when another process on this machine listens at the control port of an open
// group: that one leads, we may join it.
inline constexpr int kAnotherLeads = -1;

// Runs the job to its end and returns robustrun's exit code. One line per failure that keeps it
// from starting goes to stderr (exit code 2 when it is the user's to fix).
int run_job(const RunRequest& request);

}  // namespace robustrun::supervisor
