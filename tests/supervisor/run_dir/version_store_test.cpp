#include "supervisor/run_dir/version_store.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/io/fd.h"
#include "supervisor/control/update_request.h"
#include "supervisor/limits.h"
#include "tests/scratch_folder.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::version_store_test {
namespace {

using Words = std::vector<std::string>;

VersionContent variables(Words environment, Words unset = {}) {
  VersionContent changes;
  changes.environment = std::move(environment);
  changes.unset = std::move(unset);
  return changes;
}

std::string staged(const robustrun::test::ScratchFolder& run, VersionContent changes) {
  const auto stage = make_stage(run.path());
  REQUIRE(stage);
  REQUIRE(save_stage(run.path(), *stage, {std::move(changes), {"env of a test"}}));
  return *stage;
}

TEST_CASE("updates add up, and the last word on a variable counts") {
  VersionContent held = merged({}, variables({"A=1", "B=2"}), 1);
  held = merged(held, variables({"A=3", "C="}, {"B", "D"}), 2);
  CHECK(held.environment == Words{"A=3", "C="});
  CHECK(held.unset == Words{"B", "D"});
  held = merged(held, variables({"B=4"}), 3);
  CHECK(held.environment == Words{"A=3", "C=", "B=4"});
  CHECK(held.unset == Words{"D"});
  CHECK_FALSE(held.has_arguments);
  VersionContent code;
  code.script = "train.py";
  code.code_digest = "ab";
  code.has_arguments = true;
  held = merged(held, code, 4);
  held = merged(held, variables({"E=1"}), 5);
  CHECK(held.code_of == 4);
  CHECK(held.has_arguments);
  CHECK(held.arguments.empty());
  const wire::WorkerVersion message = to_message("/run", 5, held);
  CHECK(message.number == 5);
  CHECK(message.program == "/run/versions/4/code/train.py");
  CHECK(message.code_directory == "/run/versions/4/code");
  CHECK(message.environment == Words{"A=3", "C=", "B=4", "E=1"});
  CHECK(to_message("/run", 1, variables({"A=1"})).program.empty());
}

TEST_CASE("an update becomes a version that only its owner can read") {
  const robustrun::test::ScratchFolder run;
  const auto first = adopt_stage(run.path(), staged(run, variables({"KEY=x"})), 0, 1);
  REQUIRE(first);
  CHECK(first->words == Words{"env of a test"});
  const auto second = adopt_stage(run.path(), staged(run, variables({"B=y"})), 1, 2);
  REQUIRE(second);
  const auto held = load_version(run.path(), 2);
  REQUIRE(held);
  CHECK(held->environment == Words{"KEY=x", "B=y"});
  CHECK(*load_version(run.path(), 0) == VersionContent{});
  CHECK_FALSE(load_version(run.path(), 3).has_value());
  struct stat status{};
  REQUIRE(::stat((run / "versions/2/held").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  // A supervisor that died before it said so had made it already.
  CHECK(adopt_stage(run.path(), staged(run, variables({"C=z"})), 1, 2).has_value());
  CHECK(load_version(run.path(), 2)->environment == Words{"KEY=x", "C=z"});
}

TEST_CASE("what is no update, or changes nothing, is refused") {
  const robustrun::test::ScratchFolder run;
  const auto refusal = [&](VersionContent changes) {
    const auto made = adopt_stage(run.path(), staged(run, std::move(changes)), 0, 1);
    REQUIRE_FALSE(made);
    return made.error().what;
  };
  CHECK(refusal({}) == "nothing changes against version 0");
  CHECK(refusal(variables({"RANK=1"})).starts_with("RANK is set by robustrun"));
  CHECK(refusal(variables({}, {"MASTER_ADDR"})).starts_with("MASTER_ADDR is set"));
  CHECK(refusal(variables({"no value"})).find("NAME=VALUE") != std::string::npos);
  CHECK(refusal(variables({"A=" + std::string(kVersionBytesMax, 'x')})).find("128 KiB") !=
        std::string::npos);
  VersionContent code;
  code.code_digest = "ab";
  code.script = "../../train.py";
  CHECK(refusal(code) == "the script is not within the code");
  code.script = "";
  CHECK(refusal(code) == "the script is not within the code");
  for (const char* stage : {"", "1", "../1", "new.x/..", "new.nothing"}) {
    CHECK_FALSE(adopt_stage(run.path(), stage, 0, 1).has_value());
  }
  CHECK_FALSE(std::filesystem::exists(run / "versions/1"));
}

TEST_CASE("orders come back from their fields as they were") {
  UpdateOrder order{.stage = "new.x", .now = true, .within = std::chrono::hours(3)};
  auto read = read_update_order(to_fields(order));
  REQUIRE(read);
  CHECK(read->stage == "new.x");
  CHECK(read->now);
  CHECK(read->within == std::chrono::hours(3));
  CHECK_FALSE(read->back_to);
  read = read_update_order(to_fields({.back_to = 4}));
  REQUIRE(read);
  CHECK(read->back_to == 4U);
  CHECK_FALSE(read->now);
  CHECK_FALSE(read_update_order({{"within_ns", "-1"}}));
  CHECK_FALSE(read_update_order({{"within_ns", "9000000000000000000"}}));
  CHECK_FALSE(read_update_order({{"back_to", "x"}}));
  CHECK_FALSE(read_update_order({{"back_to", "1"}, {"stage", "new.x"}}));
}

// The row with a real core behind it, but no socket.
struct Asked {
  explicit Asked(const std::string& run)
      : row(update_row({[this]() -> const Job& { return h.job; },
                        [this](UpdateRequested event) { h.tell(std::move(event)); }, run, true})) {
    h.run();
    h.first_step();
  }
  ControlFields ask(const UpdateOrder& order) {
    ControlFields answer;
    row.answer(to_fields(order),
               base::RequestSocket::Reply([&](const std::string& text, const auto&, const auto&) {
                 answer = read_control_message(text).value();
               }));
    return answer;
  }
  test::Harness h;
  ControlServer::Row row;
};

TEST_CASE("the row makes a version, or goes back to one") {
  const robustrun::test::ScratchFolder run;
  Asked asked(run.path());
  ControlFields answer = asked.ask({.back_to = 0});
  CHECK(answer["message"] == "version 0 (as the run was started) is what the workers have");
  CHECK(asked.ask({})["message"] == "there is no version before 0 that may work");
  CHECK(asked.ask({.back_to = 9})["message"] == "there is no version 9: the newest is 0");
  CHECK(asked.ask({.stage = "new.nothing"})["type"] == "error");
  VersionContent code = variables({"A=1"});
  code.code_digest = "ab";
  code.script = "train.py";
  answer = asked.ask({.stage = staged(run, code)});
  CHECK(answer["version"] == "1");
  CHECK(answer["text"].find("from the next restart on; every node must see") != std::string::npos);
  CHECK(asked.h.job.versions().next == 1);
  CHECK(asked.h.job.versions().all[1].digest == "ab");
  // Not applied yet: to go back is to leave it alone.
  answer = asked.ask({});
  CHECK(answer["version"] == "0");
  CHECK(asked.h.job.versions().next == 0);
  answer = asked.ask({.back_to = 1, .now = true});
  CHECK(answer["text"].find("are started again with it") != std::string::npos);
  CHECK(asked.h.job.state() == JobState::kStopping);
  asked.h.tell(SignalReceived{15, false});
  CHECK(asked.ask({.back_to = 0})["message"] == "the run is ending");
}

}  // namespace
}  // namespace robustrun::supervisor::version_store_test
