// Which standby workers a node keeps. None is forked here, as from a template: each is a process of
// its own that does not exist.
#include "agent/standby/standby_set.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "tests/agent/fake_node.h"

namespace robustrun::agent::standby_set_test {
namespace {

struct Standbys : test::FakeNode {
  Standbys() {
    node.workers.mode = wire::LaunchMode::kScript;
    node.workers.python_path = "/share/robustrun/python";
    node.workers.standby = wire::StandbyMode::kAll;
    node.home.prefix = {"/usr/bin/runc", "exec"};  // in a container nothing is forked
    set.emplace(node, StandbySet::Handlers{[this] { ++emptied; }, {}, {}});
  }
  // On a spare node, for `count` workers.
  void keep(std::uint32_t count, const std::string& list = "torch\n") {
    std::vector<StandbySet::Wanted> wanted;
    for (std::uint32_t i = 0; i < count; ++i) wanted.push_back({{i}, {4 + i}, spawn()});
    set->keep(std::move(wanted), list);
    set->prepare();
    set->prepare();
    set->prepare();
  }
  [[nodiscard]] static LaunchSpec spawn(const std::string& argument = "train.py") {
    LaunchSpec made;
    made.argv = {"/usr/bin/python3", "-u", argument};
    return made;
  }
  // The worker of this place is about to start the usual way, and why.
  [[nodiscard]] std::string cold(std::uint32_t local = 0) {
    const wire::WorkerSlot slot{{4 + local}, {local}, local};
    auto place = set->take(slot, spawn(), home / "list");
    CHECK_FALSE(place.standby);
    return place.cold;
  }

  int emptied = 0;
  std::optional<StandbySet> set;
};

TEST_CASE("a spare keeps a standby for each worker, and only a few import at a time") {
  Standbys run;
  run.keep(3);
  REQUIRE(run.processes.started.size() == kStandbysAtOnce);
  CHECK(run.processes[0].options.argv.back() == "train.py");
  run.processes[0].vanish();
  run.set->prepare();
  CHECK(run.processes.started.size() == 3);
}

TEST_CASE("the same order keeps the standbys that exist, another list makes them anew") {
  Standbys run;
  run.keep(1);
  run.keep(1);
  CHECK(run.processes.started.size() == 1);
  CHECK(run.processes[0].kills == 0);
  run.keep(1, "torch\nnumpy\n");
  CHECK(run.processes[0].kills == 1);
  CHECK(run.processes.started.size() == 2);
}

TEST_CASE("no standby is kept where none is wanted") {
  Standbys off;
  off.node.workers.standby = wire::StandbyMode::kOff;
  off.keep(1);
  Standbys executable;
  executable.node.workers.mode = wire::LaunchMode::kExecutable;
  executable.keep(1);
  Standbys no_boot;
  no_boot.node.workers.python_path.clear();
  no_boot.keep(1);
  CHECK(off.processes.started.empty());
  CHECK(executable.processes.started.empty());
  CHECK(no_boot.processes.started.empty());
}

TEST_CASE("a standby that still imports gives way to an attempt, which is told why it is cold") {
  Standbys run;
  run.keep(1);
  run.set->begin(Standbys::order(1, 1));
  CHECK(run.processes[0].kills == 1);
  bool settled = false;
  run.set->when_settled([&] { settled = true; });
  CHECK(settled);
  CHECK(run.cold() == "its standby worker was still importing");
}

TEST_CASE("a standby that begins just before its worker starts still imports") {
  Standbys run;
  run.keep(1);
  run.set->begin(Standbys::order(1, 1));
  run.set->prepare();
  REQUIRE(run.processes.started.size() == 2);
  CHECK(run.cold() == "its standby worker was still importing");
  CHECK(run.processes[1].kills == 1);
}

TEST_CASE("a standby that has died is not made again before the next attempt") {
  Standbys run;
  run.keep(1);
  run.processes[0].begin(100);
  run.processes[0].end(test::exit_code(1));
  CHECK(run.emptied == 1);
  run.set->prepare();
  CHECK(run.processes.started.size() == 1);
  run.set->begin(Standbys::order(1, 1));
  CHECK(run.cold() == "its standby worker had died");
}

TEST_CASE("a standby that cannot be started gives the reason why its worker is cold") {
  Standbys run;
  run.processes.error = base::Error{base::Errc::kLimit, EAGAIN, "cannot fork"};
  run.keep(1);
  run.set->begin(Standbys::order(1, 1));
  CHECK(run.cold() == "cannot fork");
}

TEST_CASE("the first worker of a node needs no reason, the next one does") {
  Standbys run;
  run.set->begin(Standbys::order(0, 1));
  CHECK(run.cold().empty());
  run.set->begin(Standbys::order(1, 1));
  CHECK(run.cold() == "the previous worker had not done a step yet");
}

TEST_CASE("while an attempt ends no standby is started") {
  Standbys run;
  run.keep(3);
  run.set->pause();
  run.processes[0].vanish();
  run.set->prepare();
  CHECK(run.processes.started.size() == kStandbysAtOnce);
}

TEST_CASE("at the end all are killed, and the last one that goes is noticed") {
  Standbys run;
  run.keep(2);
  run.set->end();
  CHECK_FALSE(run.set->empty());
  for (const std::size_t which : {0, 1}) {
    CHECK(run.processes[which].kills == 1);
    run.processes[which].vanish();
  }
  CHECK(run.set->empty());
  CHECK(run.emptied == 1);
  run.keep(2);
  CHECK(run.processes.started.size() == 2);
}

}  // namespace
}  // namespace robustrun::agent::standby_set_test
