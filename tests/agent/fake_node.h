#pragma once
// A node whose workers are processes that do not exist (fake_processes.h), and what it reports.

#include <vector>

#include "agent/node/node_context.h"
#include "base/io/blocking_pool.h"
#include "tests/support/fake_channel.h"
#include "tests/support/fake_processes.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace robustrun::test {

struct FakeNode {
  FakeNode() {
    node.processes = &processes;
    node.workers.mode = wire::LaunchMode::kExecutable;
    node.workers.program = "/bin/true";
    node.workers.working_directory = "/";
    node.workers.run_id = "fake";
    // No driver is here, and no cache of the user's.
    node.workers.environment = {"PATH=/usr/bin:/bin", "HOME=" + home.path(),
                                "ROBUSTRUN_HEALTH_ROOT=" + home.path()};
    node.started_with = node.workers;
  }

  // Two workers.
  [[nodiscard]] static wire::StartWorkers order(std::uint32_t attempt, std::uint32_t workers = 2) {
    wire::StartWorkers start;
    start.attempt = {attempt};
    for (std::uint32_t i = 0; i < workers; ++i) start.slots.push_back({{i}, {i}, i});
    start.world_size = workers;
    start.master_addr = "127.0.0.1";
    start.master_port = 29500;
    start.ordered_by = 1;
    return start;
  }
  template <class Message>
  [[nodiscard]] std::vector<Message> all() const {
    return all_of<Message>(sent);
  }
  template <class Message>
  [[nodiscard]] bool wait_for(std::size_t count = 1) {
    return loop.run_until([&] { return all<Message>().size() >= count; });
  }

  const Scratch home;
  Loop loop{};
  base::SystemClock clock;
  base::BlockingPool pool{loop.executor(), 2, 64};
  FakeProcesses processes;
  std::vector<wire::Message> sent;
  agent::NodeContext node{.executor = loop.executor(),
                          .clock = clock,
                          .pool = pool,
                          .send = [this](const wire::Message& message) { sent.push_back(message); },
                          .shim = "/nowhere/robustrun-shim",
                          .runtime_directory = home.path(),
                          .workers = {}};
};

}  // namespace robustrun::test
