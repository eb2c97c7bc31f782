#pragma once
// One run, ready to start: everything that cli/ has made of options, environment and files.

#include <string>
#include <vector>

#include "base/core/ids.h"
#include "base/io/log.h"
#include "launcher/allocation/batch_job.h"
#include "launcher/hosts/host.h"
#include "launcher/slurm/command.h"
#include "launcher/ssh/launcher.h"
#include "supervisor/core/types/job_spec.h"
#include "supervisor/heartbeat_times.h"
#include "supervisor/outlet_plan.h"
#include "supervisor/placement_request.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

// Where a worker's stdout and stderr go.
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
  // kTemplate: ${role_name}, ${rank}, ${local_rank}, ${hostname} (--log-line-prefix-template;
  // "[${role_name}${local_rank}]:" for --tee).
  std::string prefix_template;
  bool fold = false;         // equal lines of many ranks are shown once (--fold-lines)
  bool colour_out = false;   // dim prefixes; the worker's own text is never coloured
  bool colour_err = false;
  bool live = false;  // stderr is a terminal whose bottom may show bars and a line about the run
  template <class V>
  void fields(V& v) {
    v(1, "prefix", prefix);
    v(2, "prefix_template", prefix_template);
    v(3, "fold", fold);
    v(4, "colour_out", colour_out);
    v(5, "colour_err", colour_err);
    v(6, "live", live);
  }
};

// How agents are launched, and how they connect.
struct NetworkPlan {
  enum class Launch : std::uint8_t {
    kSocketPair,   // one agent, on this machine
    kProcesses,    // agents on this machine, connected over the network
    kSsh,
    kSlurm,
  };
  Launch launch = Launch::kSocketPair;
  std::vector<launcher::Host> hosts;   // kSsh, kSlurm: by NodeId
  launcher::SshOptions ssh;
  std::string interface;  // --iface; empty: the interface of the connection to the supervisor
  // Agents get these of our addresses first, so MASTER_ADDR may be one; empty: the system's order.
  std::vector<std::string> first_addresses;
  std::uint16_t port = 0;  // of the control channel; 0: any
  std::string run_id;  // the run that agents ask to join
  std::string secret;  // shared by the users (--secret-file); empty: the supervisor makes one
  bool insecure = false;  // --insecure-rdzv: any host that reaches the port may join
  bool munge = false;  // hosts that join by themselves prove by munge that their user is ours
  std::string build;  // base/core/build_id.h; empty: not compared
  std::string command_digest;  // of the script and its arguments; empty: not compared
  // What every host counts to find its number of workers, and the interpreter that it uses to count
  // (wire/tls/credential.h); empty if NodeSpec::slots has the number.
  std::string count;
  std::string count_interpreter;
  LeaseTimes lease;
  launcher::SlurmOptions slurm;  // kSlurm
  launcher::BatchJob batch;  // the run's job if its scheduler is not Slurm
  // Open groups and --replace: path of the file with the join token and our addresses; empty: hosts
  // get these in another way.
  std::string invitation;
  std::uint64_t copies_rate =
      0;  // bytes/s of copies to peers (--copies-rate); 0: the agents' choice
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
    v(19, "batch", batch);
    v(20, "first_addresses", first_addresses);
  }
};

// What is done about hangs (supervisor/watch/hang_watch.h).
struct HangPolicy {
  bool act = true;  // false: hangs are only reported (--hang-timeout=0, as in compat mode)
  base::Nanos timeout = std::chrono::minutes(10);  // --hang-timeout: ends a hang in any case
  template <class V>
  void fields(V& v) {
    v(1, "act", act);
    v(2, "timeout", timeout);
  }
};

struct RankRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;  // included
  bool operator==(const RankRange&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "first", first);
    v(2, "last", last);
  }
};

// What a run leaves for continuous integration at its end.
struct CiPlan {
  std::string junit_file;  // absolute path (--summary-junit); empty: none
  std::string summary_file;  // Markdown is appended ($GITHUB_STEP_SUMMARY); empty: none
  bool annotate = false;  // GitHub's workflow commands on stderr
  std::string workspace;  // $GITHUB_WORKSPACE; empty: unknown
  template <class V>
  void fields(V& v) {
    v(1, "junit_file", junit_file);
    v(2, "summary_file", summary_file);
    v(3, "annotate", annotate);
    v(4, "workspace", workspace);
  }
};

// The signals that the batch system sends to the run's job (launcher/allocation/batch_job.h).
struct BatchSignals {
  std::string system;  // "Grid Engine"; empty: none, or Slurm
  std::vector<int> warnings;  // other signals than SIGTERM that end the run as SIGTERM does
  template <class V>
  void fields(V& v) {
    v(1, "system", system);
    v(2, "warnings", warnings);
  }
};

// A run, ready to start.
struct RunRequest {
  JobSpec spec;
  wire::WorkerTemplate workers;
  NetworkPlan network;
  std::vector<StreamRoutes> routes;  // by local rank; as many as the largest node has slots
  std::string run_directory;  // absolute; made by cli/, 0700
  ConsoleStyle console;
  std::vector<RankRange> shown_ranks;  // ranks whose output the console shows; empty: all
  std::vector<int> end_signals;  // --signals-to-handle: each ends the run
  std::vector<int> forwarded_signals;  // SIGUSR1, SIGUSR2 in native mode
  BatchSignals batch_signals;
  // Path of a detached run's console file (console/console_log.h): standard output and error lead
  // there once the run begins. Empty: they remain those of the caller.
  std::string console_log;
  // Once other commands can reach the run, the path of its directory is written to this descriptor,
  // which is then closed; -1: none.
  int announce_fd = -1;
  std::string summary_json;  // path; empty: none
  CiPlan ci;
  bool print_report = true;  // summary on stderr at the end (off in compat mode)
  bool print_child_failed = false;  // torchrun's error block, before the summary
  PlacementRequest placement;
  HangPolicy hangs;
  OutletPlan outlets;
  std::string nested_error_file;  // our own TORCHELASTIC_ERROR_FILE; empty: none
  std::vector<std::string> replay_command;  // --replay-cmd, argv; empty: the alignment test
  std::string node_history;  // folder of group/node_history.h; empty: none
  // Of this process's own log; its colour is that of the console.
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::LogFormat log_format = base::LogFormat::kHuman;
  // All members but `spec`, `run_directory`, and those that are only valid in this process:
  // `console_log` and `announce_fd` (run_dir/saved_request.h).
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
    v(16, "print_child_failed", print_child_failed);
    v(17, "ci", ci);
    v(18, "batch_signals", batch_signals);
    v(19, "log_level", log_level);
    v(20, "log_format", log_format);
    v(40, "replay_command", replay_command);
  }
};

// Whether agents connect over a network, and may come back after a broken connection.
[[nodiscard]] inline bool has_remote_agents(const RunRequest& request) {
  return request.network.launch != NetworkPlan::Launch::kSocketPair || request.spec.group.open;
}

// Where a remote agent puts the log files of its workers, if there are any. Machines often share a
// file system. In compat every command of a rendezvous has a folder with a random name of its own
// for that, as with torchrun.
[[nodiscard]] inline std::string remote_log_directory(const RunRequest& request, base::NodeId node,
                                                      const std::string& name) {
  const std::string& logs = request.workers.log_directory;
  const bool has_own_name = request.spec.compat && request.spec.group.open;
  if (has_own_name || logs.empty()) return logs;
  return logs + "/node" + std::to_string(node.value) + "_" + name;
}

// Returned by run_job() if another process on this machine listens on the control port of an open
// group. That process leads the group, and this process may join it.
inline constexpr int kAnotherLeads = -1;

// Runs the job to its end and returns robustrun's exit code. After a failure that prevents the
// start one line is on stderr, and the exit code is 2.
int run_job(const RunRequest& request);

// Takes over the run in `run_directory`, whose supervisor is gone; its agents and workers continue.
// Returns what run_job() would return; for a run that has ended, its exit code. Exit code 2 and one
// line on stderr if the run has a supervisor, or cannot be taken over. `announce_fd`: as in
// RunRequest, and the console goes to the run's file; -1: the console remains that of the caller.
int resume_job(const std::string& run_directory, int announce_fd = -1);

}  // namespace robustrun::supervisor
