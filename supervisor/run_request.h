#pragma once
// One run, ready to start: everything cli/ made of options, environment and files.

#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/slurm/command.h"
#include "launcher/ssh/launcher.h"
#include "supervisor/core/types/job_spec.h"
#include "supervisor/heartbeat_times.h"
#include "supervisor/outlet_plan.h"
#include "supervisor/placement_request.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

struct StreamRoutes {
  wire::StreamRoute out = wire::StreamRoute::kFileAndConsole;
  wire::StreamRoute err = wire::StreamRoute::kFileAndConsole;
  template <class V>
  void fields(V& v) {
    v(1, "out", out);
    v(2, "err", err);
  }
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
  template <class V>
  void fields(V& v) {
    v(1, "prefix", prefix);
    v(2, "prefix_template", prefix_template);
    v(3, "fold", fold);
    v(4, "colour_out", colour_out);
    v(5, "colour_err", colour_err);
  }
};

// Where agents come from, and how they come in.
struct NetworkPlan {
  enum class Launch : std::uint8_t {
    kSocketPair,   // one agent, on this machine
    kProcesses,    // agents on this machine, over the network all the same
    kSsh,
    kSlurm,
  };
  Launch launch = Launch::kSocketPair;
  std::vector<launcher::Host> hosts;   // kSsh, kSlurm: by NodeId
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
  // (wire/tls/credential.h); empty where NodeSpec::slots says it.
  std::string count;
  std::string count_interpreter;
  LeaseTimes lease;
  launcher::SlurmOptions slurm;        // kSlurm
  // Open groups: the file that tells guests where to join, and lets them in; empty: they were told.
  std::string invitation;
  std::uint64_t copies_rate = 0;  // bytes/s of copies in memory to peers (--copies-rate); 0: theirs
  std::uint64_t peers_rate = 0;  // bytes/s of blocks to peers (--peers-rate); 0: no limit
  template <class V>
  void fields(V& v) {
    v(1, "launch", launch);
    v(2, "hosts", hosts);
    v(3, "ssh", ssh);
    v(4, "interface", interface);
    v(5, "port", port);
    v(6, "run_id", run_id);
    v(7, "secret", secret);
    v(8, "insecure", insecure);
    v(9, "munge", munge);
    v(10, "build", build);
    v(11, "command_digest", command_digest);
    v(12, "count", count);
    v(13, "count_interpreter", count_interpreter);
    v(14, "lease", lease);
    v(15, "slurm", slurm);
    v(16, "invitation", invitation);
    v(17, "copies_rate", copies_rate);
    v(18, "peers_rate", peers_rate);
  }
};

// What is done about workers that wait for each other (supervisor/watch/hang_watch.h).
struct HangPolicy {
  bool act = true;  // false: it is said, and left to the user (--hang-timeout=off, compat mode)
  base::Nanos timeout = std::chrono::minutes(10);  // --hang-timeout: no hang lasts longer
  template <class V>
  void fields(V& v) {
    v(1, "act", act);
    v(2, "timeout", timeout);
  }
};

struct RankRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool operator==(const RankRange&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "first", first);
    v(2, "last", last);
  }
};

struct RunRequest {
  JobSpec spec;
  wire::WorkerTemplate workers;
  NetworkPlan network;
  std::vector<StreamRoutes> routes;  // by local rank; as many as the largest node has slots
  std::string run_directory;  // absolute; made by cli/, 0700
  ConsoleStyle console;
  std::vector<RankRange> shown_ranks;  // of them alone the console shows output; empty: of all
  std::vector<int> end_signals;  // --signals-to-handle: each ends the run
  std::vector<int> forwarded_signals;  // SIGUSR1, SIGUSR2 in native mode
  // A detached run: standard output and error lead to this file once it begins (console_log.h).
  std::string console_log;  // path; empty: they are the caller's
  // The run's directory is written here, and it is closed, once others can reach the run; -1: none.
  int announce_fd = -1;
  std::string summary_json;  // path; empty: none
  bool print_report = true;  // summary on stderr at the end (off in compat mode)
  PlacementRequest placement;
  HangPolicy hangs;
  OutletPlan outlets;
  std::string nested_error_file;  // our own TORCHELASTIC_ERROR_FILE; empty: none
  std::vector<std::string> replay_command;  // --replay-cmd, argv; empty: the alignment test
  std::string node_history;  // folder for what is learnt of the machines; empty: it is not kept
  // All but `spec`, `run_directory` and what is of this process alone: `console_log`, `announce_fd`
  // (saved_request.h).
  template <class V>
  void fields(V& v) {
    v(1, "workers", workers);
    v(2, "network", network);
    v(3, "routes", routes);
    v(4, "console", console);
    v(5, "shown_ranks", shown_ranks);
    v(6, "end_signals", end_signals);
    v(7, "forwarded_signals", forwarded_signals);
    v(8, "summary_json", summary_json);
    v(9, "print_report", print_report);
    v(11, "nested_error_file", nested_error_file);
    v(12, "placement", placement);
    v(13, "hangs", hangs);
    v(14, "outlets", outlets);
    v(15, "node_history", node_history);
    v(40, "replay_command", replay_command);
  }
};

// Returned by run_job when another process on this machine listens at the control port of an open
// group: that one leads, we may join it.
inline constexpr int kAnotherLeads = -1;

// Runs the job to its end and returns robustrun's exit code. One line per failure that keeps it
// from starting goes to stderr (exit code 2 when it is the user's to fix).
int run_job(const RunRequest& request);

// Goes on with the run in that directory, whose supervisor is gone: its agents and workers are
// left as they are. Returns as run_job does; the exit code of a run that has ended already. Exit
// code 2 and one line on stderr when there is a supervisor, or nothing to go on with.
// `announce_fd`: as in RunRequest, and the console goes to the run's file; -1: it is the caller's.
int resume_job(const std::string& run_directory, int announce_fd = -1);

}  // namespace robustrun::supervisor
