#pragma once
// What all workers of one node share (a part of Welcome), and where their output goes.
//
// cli/ makes this data from options and files. Strings are bytes and need not be UTF-8.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// Where one stream of one worker goes (torchrun's --redirects and --tee, --local-ranks-filter).
enum class StreamRoute : std::uint8_t {
  kInherit,  // the worker writes to the launcher's own descriptor (torchrun's default)
  kConsole,  // captured and passed on to the supervisor's console
  kFile,  // captured only into the log file
  kFileAndConsole,  // as kFile and kConsole: the default of native mode, and --tee
  kDiscard,  // --local-ranks-filter without a file
};

enum class LaunchMode : std::uint8_t { kScript, kModule, kExecutable, kRunPath };

// Which nodes keep standby workers. kOff: none; kAll: all nodes, including spares; kSpares: only
// spares.
enum class StandbyMode : std::uint8_t { kOff, kAll, kSpares };

// Which files that workers read at a start are read ahead at the next start. kOff: none. kAuto:
// files on shared storage, and only if the interpreter or the program is on shared storage too.
// kOn: all.
enum class PrefetchMode : std::uint8_t { kOff, kAuto, kOn };

// How blocks of an image are read. kPageCache: through the file system that holds the image.
// kBlocks: through robustrun's own server, which fetches and caches them (bootstrap/blocks).
enum class ImageMode : std::uint8_t { kPageCache, kBlocks };

// How workers see an image. kNone: as a tree whose bin folder comes first on their PATH. kBwrap,
// kApptainer, kEnroot: as their root file system, made by this program. kAuto: as their root if the
// image is a root file system, otherwise as kNone.
enum class ContainerRuntime : std::uint8_t { kAuto, kNone, kBwrap, kApptainer, kEnroot };

// The folder of code that was packed when the run was started (bootstrap/store/code_pack.h).
struct SyncedCode {
  std::string digest;  // SHA-256 of the pack, hex
  std::uint64_t bytes = 0;  // of the pack
  std::string from;  // the folder's path, for people
  template <class V>
  void fields(V& v) {
    v(1, "digest", digest);
    v(2, "bytes", bytes);
    v(3, "from", from);
  }
};

// A number in a project's log lines. `text`: a pattern as in WorkerTemplate::metrics, without
// NAME=.
struct LineValue {
  std::string name;
  std::string text;
  double factor = 1;  // the value is the number in the line times `factor`
  bool inverse = false;  // the value is `factor` divided by the number
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "text", text);
    v(3, "factor", factor);
    v(4, "inverse", inverse);
  }
};

// The log lines of a known project (configs/log_formats.toml).
struct LineFormat {
  std::string project;
  // A line is the project's if it contains at least one of these texts; * stands for any bytes.
  std::vector<std::string> lines;
  std::vector<LineValue> values;
  template <class V>
  void fields(V& v) {
    v(1, "project", project);
    v(2, "lines", lines);
    v(3, "values", values);
  }
};

// What all workers of one node share. agent/spawn/worker_command.h turns it into argv and
// environment.
struct WorkerTemplate {
  LaunchMode mode = LaunchMode::kScript;
  std::string interpreter;  // absolute path; empty: none (kExecutable), or the image's
  std::string program;  // script, module or executable, as the user wrote it
  std::vector<std::string> arguments;  // ${local_rank} not expanded yet
  // NAME=VALUE: the caller's environment without is_denied_variable() (cli/plan/plan.h)
  std::vector<std::string> environment;
  std::string working_directory;
  std::string python_path;  // folder of the robustrun package; empty: no boot module
  std::string log_directory;  // this node's; each attempt has a folder in it; empty: no log files
  std::string run_id;  // TORCHELASTIC_RUN_ID
  std::string role = "default";
  std::string line_prefix_template;  // --log-line-prefix-template; empty: not set
  std::string numa_binding;  // empty, node, socket, exclusive, core-complex
  std::string omp;  // auto, torchrun, off, or a number
  std::vector<std::string> stdout_filters;  // --duplicate-stdout-filters
  std::vector<std::string> stderr_filters;
  std::string signals_to_handle;  // exported as TORCHELASTIC_SIGNALS_TO_HANDLE
  std::uint32_t max_restarts = 0;
  std::uint32_t stack_signal = 0;  // real-time signal on which faulthandler prints stacks; 0: none
  bool compat = false;  // --compat=torchrun
  bool virtual_local_rank = false;
  std::string numa_memory;  // empty, prefer, bind
  std::optional<std::uint32_t> stdin_rank;  // global rank that gets the launcher's stdin
  bool trace = true;  // record collectives, by NCCL's plugin and torch's Flight Recorder
  bool trace_dispatcher = false;  // record them in c10d's dispatcher too: torch 2.2 to 2.7 on gloo
  bool health = false;  // the agent watches its machine and sends NodeHealth
  StandbyMode standby = StandbyMode::kOff;
  // Metrics to find in the output of rank 0 and of the last rank: NAME=PATTERN, where {value} in
  // PATTERN stands for the number.
  std::vector<std::string> metrics;
  bool tell_modules = false;  // the agent sends StandbyModules
  bool checkpoints = false;  // the agent sends CheckpointNote
  PrefetchMode prefetch = PrefetchMode::kOff;
  std::string cache_directory;  // the user's, on each node; empty: no cache
  std::string image;  // squashfs of the workers' environment: absolute path or URL; empty: none
  ImageMode image_mode = ImageMode::kPageCache;
  ContainerRuntime container = ContainerRuntime::kAuto;
  std::vector<std::string> container_mounts;  // SOURCE:TARGET[:ro], for workers in a container
  std::string deps;  // absolute path of a file that lists dependencies; empty: none
  std::vector<std::string> setup_command;  // installs the dependencies; empty: none
  base::Nanos deps_ttl{};  // how long unpinned dependencies stay valid
  bool stages = false;  // the agent sends NodeStages
  std::vector<std::string> stage;  // files that are copied to each node before workers start
  bool share_blocks = false;  // the supervisor sends BlockPeers
  // Each node unpacks this code into its cache before workers start (bootstrap/store/code_store.h).
  // Paths in this template that point into the packed folder are mapped to the unpacked copy. The
  // supervisor answers CodeWanted.
  std::optional<SyncedCode> code{};
  std::uint64_t cache_max_gib = 0;  // limit of each kind of content in the cache; 0: default
  // The supervisor knows SavingOver: an agent that is told to restart need not delay WorkersGone
  // until copies in memory are saved.
  bool overlap_saves = false;
  std::vector<LineFormat> line_formats{};  // for the output of the same ranks as `metrics`
  // Globs of checkpoints that the workers write, relative to their working directory. Half-written
  // checkpoints are moved aside before an attempt (agent/trainer_saves/half_written.h).
  std::vector<std::string> checkpoint_globs{};
  bool agent_store = false;  // torch's store is served by rank 0's agent, not by its worker
  bool tell_moved = false;  // the agent sends CheckpointMoved
  template <class V>
  void fields(V& v) {
    v(1, "mode", mode);
    v(2, "interpreter", interpreter);
    v(3, "program", program);
    v(4, "arguments", arguments);
    v(5, "environment", environment);
    v(6, "working_directory", working_directory);
    v(7, "python_path", python_path);
    v(8, "log_directory", log_directory);
    v(9, "run_id", run_id);
    v(10, "role", role);
    v(11, "line_prefix_template", line_prefix_template);
    v(12, "numa_binding", numa_binding);
    v(13, "omp", omp);
    v(14, "stdout_filters", stdout_filters);
    v(15, "stderr_filters", stderr_filters);
    v(16, "signals_to_handle", signals_to_handle);
    v(17, "max_restarts", max_restarts);
    v(18, "stack_signal", stack_signal);
    v(19, "compat", compat);
    v(20, "virtual_local_rank", virtual_local_rank);
    v(21, "stdin_rank", stdin_rank);
    v(22, "numa_memory", numa_memory);
    v(23, "trace", trace);
    v(24, "trace_dispatcher", trace_dispatcher);
    v(25, "health", health);
    v(26, "standby", standby);
    v(27, "metrics", metrics);
    v(28, "tell_modules", tell_modules);
    v(29, "checkpoints", checkpoints);
    v(30, "prefetch", prefetch);
    v(31, "cache_directory", cache_directory);
    v(32, "image", image);
    v(33, "image_mode", image_mode);
    v(34, "container", container);
    v(35, "container_mounts", container_mounts);
    v(37, "deps", deps);
    v(38, "setup_command", setup_command);
    v(39, "deps_ttl", deps_ttl);
    v(40, "stages", stages);
    v(42, "stage", stage);
    v(43, "share_blocks", share_blocks);
    v(44, "code", code);
    v(45, "cache_max_gib", cache_max_gib);
    v(46, "overlap_saves", overlap_saves);
    v(47, "line_formats", line_formats);
    v(48, "checkpoint_globs", checkpoint_globs);
    v(49, "agent_store", agent_store);
    v(50, "tell_moved", tell_moved);
  }
};

// One worker's place in the job (docs/compat.md).
struct WorkerSlot {
  base::Rank rank;
  base::LocalRank local_rank;
  std::uint32_t role_rank = 0;
  StreamRoute out = StreamRoute::kFileAndConsole;
  StreamRoute err = StreamRoute::kFileAndConsole;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "local_rank", local_rank);
    v(3, "role_rank", role_rank);
    v(4, "out", out);
    v(5, "err", err);
  }
};

}  // namespace robustrun::wire
