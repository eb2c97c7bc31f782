#pragma once
// Everything that the core knows of a job: plain data, written by cli/, kept in the journal's first
// record. There are no secrets in it: it has no environment, and arguments are redacted by name
// before they come here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/types/fault_table.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/core/types/policy.h"
#include "supervisor/core/types/preflight.h"

namespace robustrun::supervisor {

struct NodeSpec {
  std::string name;  // host name as shown to the user
  std::string address;  // for MASTER_ADDR
  std::uint32_t slots = 1;  // workers on this node; 0: as many as its agent offers
  // Its agent came by itself (rendezvous, --replace). Once lost, such an agent cannot be launched
  // again.
  bool volunteer = false;
  std::optional<std::uint32_t> node_rank{};  // requested by the user (rendezvous)
  // It failed earlier runs (core/status/node_standing.h): other nodes are preferred to it.
  bool is_offender = false;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "address", address);
    v(3, "slots", slots);
    v(4, "volunteer", volunteer);
    v(5, "node_rank", node_rank);
    v(6, "is_offender", is_offender);
  }
};

// How many nodes form the group, and how long the run waits for others. A known node outside the
// group is a spare.
struct GroupPolicy {
  std::uint32_t min_nodes = 0;  // 0: as max_nodes
  std::uint32_t max_nodes = 0;  // 0: all of JobSpec::nodes
  bool open = false;  // more nodes may offer themselves (rendezvous)
  // In a group that is not open (--replace): how many nodes may offer themselves at a time in place
  // of lost ones. The scheduler provides these nodes.
  std::uint32_t replace = 0;
  // How long to wait for a node of the group that is still starting, when there are enough nodes.
  base::Nanos spare_patience = std::chrono::seconds(5);
  // Open groups, before the first attempt: how long to wait for more nodes once min_nodes have
  // joined.
  base::Nanos last_call = std::chrono::seconds(30);
  // How long to wait for more nodes when too few are left, before the run ends. 0: not at all.
  base::Nanos wait_for_nodes{};
  // A lost node that is not tried again at once (job/nodes/agents.h) waits for retry_first, doubled
  // with every loss, at most retry_max.
  base::Nanos retry_first = std::chrono::seconds(10);
  base::Nanos retry_max = std::chrono::minutes(5);
  template <class V>
  void fields(V& v) {
    v(1, "min_nodes", min_nodes);
    v(2, "max_nodes", max_nodes);
    v(3, "open", open);
    v(4, "spare_patience", spare_patience);
    v(5, "last_call", last_call);
    v(6, "wait_for_nodes", wait_for_nodes);
    v(7, "retry_first", retry_first);
    v(8, "retry_max", retry_max);
    v(9, "replace", replace);
  }
};

// How often, and after which waits, the workers are restarted after a failure.
struct RestartPolicy {
  std::uint32_t max_restarts = 3;  // after counted faults (FaultClass::kUser)
  base::Nanos window = std::chrono::hours(1);  // of progress, which refills max_restarts
  std::uint32_t max_infrastructure_restarts = 16;  // in a row without progress
  std::uint32_t crash_loop_retries = 1;  // of the same failure before the first progress
  bool crash_loop_stop = true;  // a crash loop ends the run; off with --compat=torchrun
  base::Nanos backoff_first = std::chrono::seconds(1);  // of the second restart without progress
  base::Nanos backoff_max = std::chrono::seconds(60);
  base::Nanos uptime_is_progress = std::chrono::seconds(60);  // if the workers report no steps
  template <class V>
  void fields(V& v) {
    v(1, "max_restarts", max_restarts);
    v(2, "window", window);
    v(3, "max_infrastructure_restarts", max_infrastructure_restarts);
    v(4, "crash_loop_retries", crash_loop_retries);
    v(5, "crash_loop_stop", crash_loop_stop);
    v(6, "backoff_first", backoff_first);
    v(7, "backoff_max", backoff_max);
    v(8, "uptime_is_progress", uptime_is_progress);
  }
};

// How long each state lasts at most before the core acts without the answer that it waits for.
struct Deadlines {
  base::Nanos agent_hello = std::chrono::seconds(30);
  base::Nanos port = std::chrono::seconds(10);
  base::Nanos workers_started = std::chrono::seconds(60);
  base::Nanos kill_margin = std::chrono::seconds(15);  // after the grace period
  // --shutdown-timeout. Batch jobs and pods have their own value: cli/submit/submit.cpp,
  // cli/submit/kubernetes_job.cpp, examples/kubernetes.
  base::Nanos shutdown_grace = std::chrono::seconds(30);
  template <class V>
  void fields(V& v) {
    v(1, "agent_hello", agent_hello);
    v(2, "port", port);
    v(3, "workers_started", workers_started);
    v(4, "kill_margin", kill_margin);
    v(5, "shutdown_grace", shutdown_grace);
  }
};

struct JobSpec {
  std::string run_id;
  std::string program;  // for people: "train.py"
  std::vector<std::string> command;  // redacted argv of the run
  std::vector<NodeSpec> nodes;  // in rank order, spares last
  std::string role = "default";
  std::string master_addr;  // empty: the first node's address
  std::uint32_t master_port = 0;  // 0: a fresh one for every attempt
  bool compat = false;
  RestartPolicy restart;
  Deadlines deadlines;
  std::optional<base::Nanos> time_limit;  // --time-limit
  std::optional<std::uint64_t> stop_after_steps;  // --stop-after-steps
  std::string log_directory;  // shown in the report
  GroupPolicy group;
  std::uint64_t expect_world = 0;  // workers that a full group must have; 0: any number
  PreflightDepth preflight = PreflightDepth::kOff;  // before the first attempt
  bool check_only = false;  // the run ends with the check's verdict
  PlacementUse placement = PlacementUse::kOff;
  std::vector<FaultRow> faults;  // if several rows fit equally well, the first counts
  Policy policy;  // what is done about faults
  bool replays_own_program = false;  // --replay-cmd; otherwise replays run the alignment test
  template <class V>
  void fields(V& v) {
    v(1, "run_id", run_id);
    v(2, "program", program);
    v(3, "command", command);
    v(4, "nodes", nodes);
    v(5, "role", role);
    v(6, "master_addr", master_addr);
    v(7, "master_port", master_port);
    v(8, "compat", compat);
    v(9, "restart", restart);
    v(10, "deadlines", deadlines);
    v(11, "time_limit", time_limit);
    v(12, "stop_after_steps", stop_after_steps);
    v(13, "log_directory", log_directory);
    v(14, "group", group);
    v(15, "expect_world", expect_world);
    v(16, "preflight", preflight);
    v(17, "check_only", check_only);
    v(18, "placement", placement);
    v(19, "faults", faults);
    v(20, "policy", policy);
    v(40, "replays_own_program", replays_own_program);
  }
};

}  // namespace robustrun::supervisor
