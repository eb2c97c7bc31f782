#pragma once
// Orders of a supervisor to an agent.
//
// Orders about workers carry their attempt. StartWorkers begins a new attempt; a repeated
// StartWorkers starts nothing. StopWorkers and SignalWorkers do nothing to workers of another
// attempt. docs/formats/robustrun.proto has the messages in protobuf's schema language. Field
// numbers are never reused.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "wire/messages/facts.h"
#include "wire/messages/version.h"
#include "wire/messages/worker_template.h"

namespace robustrun::wire {

// First message to an agent, in answer to its Hello.
struct Welcome {
  std::uint32_t protocol = kProtocolVersion;
  base::NodeId node;
  base::Generation generation;
  WorkerTemplate workers;
  base::Nanos heartbeat_interval = std::chrono::seconds(1);  // of Heartbeat, both ways
  // after so long without a message, the agent takes the connection for broken; 0: no limit
  base::Nanos silence_max{};
  // how long workers may continue without a supervisor; 0 in a run on one machine
  base::Nanos orphan_grace{};
  std::uint32_t incarnation = 1;  // of the supervisor; higher after each takeover of the run
  std::vector<std::string> endpoints{};  // where the supervisor listens; empty: unchanged
  template <class V>
  void fields(V& v) {
    v(1, "protocol", protocol);
    v(2, "node", node);
    v(3, "generation", generation);
    v(4, "workers", workers);
    v(5, "heartbeat_interval", heartbeat_interval);
    v(6, "silence_max", silence_max);
    v(7, "orphan_grace", orphan_grace);
    v(8, "incarnation", incarnation);
    v(9, "endpoints", endpoints);
  }
};

// Requests a free TCP port, if possible outside the kernel's ephemeral range; answered by
// PortReserved.
struct ReservePort {
  base::Attempt attempt;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
  }
};

// What `robustrun update` changes: values that replace those of WorkerTemplate.
struct WorkerVersion {
  std::uint32_t number = 0;
  std::vector<std::string> environment{};  // NAME=VALUE, added or replaced
  std::vector<std::string> unset{};  // names of variables to remove
  std::string program{};  // absolute path of the script, within code_directory
  std::string code_directory{};  // absolute; empty: the template's program
  // Digest of the code (base/io/code_tree.h). If the code on the node has another digest, nothing
  // starts.
  std::string code_digest{};
  bool has_arguments = false;  // `arguments` replace the template's
  std::vector<std::string> arguments{};
  template <class V>
  void fields(V& v) {
    v(1, "number", number);
    v(2, "environment", environment);
    v(3, "unset", unset);
    v(4, "program", program);
    v(5, "code_directory", code_directory);
    v(6, "code_digest", code_digest);
    v(7, "has_arguments", has_arguments);
    v(8, "arguments", arguments);
  }
};

struct StartWorkers {
  base::Attempt attempt;
  std::vector<WorkerSlot> slots;
  std::uint32_t group_rank = 0;
  std::uint32_t group_world_size = 1;
  std::uint32_t world_size = 1;
  std::string master_addr;
  std::uint32_t master_port = 0;
  std::optional<WorkerVersion> version{};  // none: all values are the template's
  // Incarnation of the supervisor that ordered the attempt, even if a later supervisor repeats the
  // order; 0: unknown.
  std::uint32_t ordered_by = 0;
  // Copies of earlier workers are still being saved, here or on another node. The new workers wait
  // before they load or save, at most 50 s, until the order is repeated without this flag
  // (docs/formats/worker-socket.md).
  bool saving = false;
  // Restarts so far that count against --max-restarts, so without membership changes and
  // infrastructure faults. None: the supervisor's version does not send it.
  std::optional<std::uint32_t> restarts{};
  // Only for the node of rank 0: the addresses of all nodes that have joined, which may use rank
  // 0's store. Empty: no other node has ranks, some address is unknown, or there are more than
  // kStoreClientsMax.
  std::vector<std::string> store_clients{};
  // Attempts of two supervisors may have the same number; those of the later supervisor are newer.
  [[nodiscard]] bool is_newer_than(const StartWorkers& other) const {
    const bool are_of_two =
        ordered_by != 0 && other.ordered_by != 0 && ordered_by != other.ordered_by;
    return are_of_two ? ordered_by > other.ordered_by : attempt > other.attempt;
  }
  // Whether `other` may be the same order, repeated.
  [[nodiscard]] bool is_same_as(const StartWorkers& other) const {
    return attempt == other.attempt && ordered_by == other.ordered_by;
  }
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "slots", slots);
    v(3, "group_rank", group_rank);
    v(4, "group_world_size", group_world_size);
    v(5, "world_size", world_size);
    v(6, "master_addr", master_addr);
    v(7, "master_port", master_port);
    v(8, "version", version);
    v(9, "ordered_by", ordered_by);
    v(10, "saving", saving);
    v(11, "restarts", restarts);
    v(12, "store_clients", store_clients);
  }
};

// Signals the process group of every living worker, and after `grace` sends SIGKILL to the worker's
// whole process tree. Answered by WorkersGone. A repeated order signals again, and its `grace`
// replaces the previous one.
struct StopWorkers {
  base::Attempt attempt;
  std::int32_t signal = 15;
  base::Nanos grace{};
  StopReason reason = StopReason::kStop;
  // Workers that announced that they save before a stop (save_on_stop in
  // docs/formats/worker-socket.md) get no signal, only the reason and the deadline. Set if all
  // workers are alive and could continue.
  bool save_first = false;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "signal", signal);
    v(3, "grace", grace);
    v(4, "reason", reason);
    v(5, "save_first", save_first);
  }
};

// Passes a user's signal (SIGUSR1, SIGUSR2) on to the workers; nothing else happens.
struct SignalWorkers {
  base::Attempt attempt;
  std::int32_t signal = 0;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "signal", signal);
  }
};

// The run is over: the agent kills the processes that are left, answers Bye and exits.
struct Dismiss {
  std::int32_t exit_code = 0;  // the run's
  template <class V>
  void fields(V& v) {
    v(1, "exit_code", exit_code);
  }
};

// Ends the run. `robustrun stop` on another machine sends it as the only message of its connection,
// and gets Bye or Refused. An agent sends it when a worker has sent its parent a signal that stops
// a run, or, in a run on one machine, when the agent itself got such a signal. In a run on one
// machine the supervisor sends StopRun back as an acknowledgement, even if the run does not end;
// the agent then need not stop the workers by itself.
struct StopRun {
  std::int32_t signal = 15;  // 0: only a question whether the supervisor is there, as for kill()
  std::optional<base::Nanos> grace{};  // none: the grace that the run was started with
  std::string host{};  // where the order came from, for people
  template <class V>
  void fields(V& v) {
    v(1, "signal", signal);
    v(2, "grace", grace);
    v(3, "host", host);
  }
};

}  // namespace robustrun::wire
