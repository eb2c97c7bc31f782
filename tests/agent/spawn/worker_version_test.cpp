#include "agent/spawn/worker_version.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include "agent/spawn/worker_command.h"
#include "base/io/code_tree.h"
#include "base/io/sha256.h"
#include "tests/scratch_folder.h"

namespace robustrun::agent::worker_version_test {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("a version replaces what it contains, and nothing else") {
  wire::WorkerTemplate workers;
  workers.program = "train.py";
  workers.working_directory = "/job";
  workers.arguments = {"--lr", "1"};
  workers.environment = {"A=1", "B=2", "C=3"};
  const wire::WorkerTemplate same = with_version(workers, {.number = 1});
  CHECK(same.program == "train.py");
  CHECK(same.arguments == workers.arguments);
  CHECK(same.environment == workers.environment);
  const wire::WorkerTemplate other =
      with_version(workers, {.number = 2,
                             .environment = {"B=5=6", "D="},
                             .unset = {"A", "Z"},
                             .program = "/run/versions/2/code/train.py",
                             .code_directory = "/run/versions/2/code",
                             .has_arguments = true});
  CHECK(other.program == "/run/versions/2/code/train.py");
  CHECK(other.working_directory == "/job");
  CHECK(other.arguments.empty());
  CHECK(other.environment == Words{"C=3", "B=5=6", "D="});
}

TEST_CASE("a snapshot of dependencies precedes the packages of every version") {
  const base::SystemClock clock;
  boost::asio::io_context loop;
  base::BlockingPool pool(loop.get_executor(), 1, 1);
  NodeContext node{loop.get_executor(), clock, pool, [](const wire::Message&) {}, {}, {}, {}};
  node.started_with.interpreter = "/usr/bin/python3";
  node.started_with.environment = {"PYTHONPATH=/mine"};
  CHECK(workers_of(node, std::nullopt).environment == node.started_with.environment);
  node.snapshot = SnapshotView{"/t", {}, "3.11"};
  CHECK(workers_of(node, std::nullopt).environment ==
        Words{"ROBUSTRUN_PREFIX=/t", "PYTHONPATH=/t:/mine"});
  const wire::WorkerVersion version{.number = 2, .environment = {"PYTHONPATH=/other"}};
  CHECK(workers_of(node, version).environment ==
        Words{"ROBUSTRUN_PREFIX=/t", "PYTHONPATH=/t:/other"});
  CHECK(workers_of(node, version).interpreter == "/usr/bin/python3");
  node.own_command = true;  // this node runs no other version of it
  CHECK(workers_of(node, version).environment ==
        Words{"ROBUSTRUN_PREFIX=/t", "PYTHONPATH=/t:/mine"});
  node.snapshot->facts.is_conda = true;
  CHECK(workers_of(node, std::nullopt).interpreter == "/t/bin/python");
}

TEST_CASE("a machine with a command of its own, however it joined, says so") {
  const auto started = check_start({}, wire::WorkerVersion{.number = 2}, true);
  REQUIRE_FALSE(started);
  CHECK(started.error().code == base::Errc::kPermission);
  CHECK(started.error().what.find("a command of its own") != std::string::npos);
  CHECK(started.error().what.find("authentication") == std::string::npos);
}

TEST_CASE("code is run only where it is unchanged since it was handed in") {
  const test::ScratchFolder here;
  here.write("src/train.py", "pass\n");
  const auto copy = base::copy_code(here / "src", here / "code", "");
  REQUIRE(copy);
  wire::WorkerVersion version{.number = 3};
  CHECK(check_version(version));   // it brings no code
  version.code_directory = here / "code";
  version.code_digest = base::to_hex(base::sha256(copy->manifest));
  const auto trouble = [&] {
    const auto checked = check_version(version);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().what.find("code of version 3 is not on this machine") !=
          std::string::npos);
    return checked.error().what;
  };
  CHECK(trouble().find("code.files") != std::string::npos);
  here.write("code.files", copy->manifest);
  CHECK(check_version(version));
  here.write("code.files", copy->manifest + "l x\n");
  CHECK(trouble().find("is another one") != std::string::npos);
  here.write("code.files", copy->manifest);
  here.write("code/train.py", "evil\n");
  CHECK(trouble().find("not what it was") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::agent::worker_version_test
