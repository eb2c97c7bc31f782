// A checkpoint is demoted by order, and nothing else is written.
#include "agent/worker/checkpoint_demotion.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>

#include "base/core/clock.h"
#include "tests/checkpoint/support.h"

namespace checkpoint_demotion_test {

using namespace robustrun;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;

namespace {

wire::DemoteCheckpoint order_for(const TwoMounts& mounts, const checkpoint::AttemptId& attempt) {
  return {7, attempt.step, attempt.generation, attempt.token, mounts.directories, "failed-often"};
}

std::size_t files_in(const TwoMounts& mounts) {
  std::size_t count = 0;
  for (const std::string& directory : mounts.directories) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("the newest checkpoint is demoted, and a job starts from the next older one") {
  const TwoMounts mounts;
  checkpoint::Store store = mounts.store();
  const auto older = save_step(store, 5);
  const auto newer = save_step(store, 6);
  REQUIRE(older);
  REQUIRE(newer);
  REQUIRE(agent::set_aside(order_for(mounts, newer->manifest.head.attempt)));
  const auto found = checkpoint::newest_committed(mounts.directories);
  REQUIRE(found);
  CHECK(found->attempt == older->manifest.head.attempt);
  CHECK(agent::set_aside(order_for(mounts, newer->manifest.head.attempt)));  // repeated: no change
}

TEST_CASE("nothing but a committed checkpoint of these directories is written to") {
  const TwoMounts mounts;
  checkpoint::Store store = mounts.store();
  REQUIRE(save_step(store, 5));
  const auto begun = store.begin(6, 1, {1, {}}, {"n0"});
  REQUIRE(begun);
  const std::size_t files = files_in(mounts);
  CHECK_FALSE(agent::set_aside(order_for(mounts, *begun)));
  CHECK_FALSE(agent::set_aside(order_for(mounts, {5, 1, "../../x"})));
  CHECK_FALSE(agent::set_aside({7, 5, 1, "ab", {"/no/such/directory"}, "failed-often"}));
  CHECK(files_in(mounts) == files);
}

TEST_CASE("the order is answered, whatever its result") {
  const TwoMounts mounts;
  checkpoint::Store store = mounts.store();
  const auto saved = save_step(store, 5);
  REQUIRE(saved);
  boost::asio::io_context loop;
  const base::SystemClock clock;
  base::BlockingPool pool(loop.get_executor(), 1, 1);
  std::vector<wire::CheckpointDemoted> answers;
  agent::NodeContext node{loop.get_executor(),
                          clock,
                          pool,
                          [&answers](const wire::Message& message) {
                            answers.push_back(std::get<wire::CheckpointDemoted>(message));
                          },
                          {},
                          {},
                          {}};
  agent::CheckpointDemotion demotion(node);
  demotion.demote(order_for(mounts, saved->manifest.head.attempt));
  demotion.demote({8, 5, 1, "ab", {}, "failed-often"});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (answers.size() < 2 && std::chrono::steady_clock::now() < end) {
    loop.restart();
    loop.run_one_for(std::chrono::milliseconds(50));
  }
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].order == 7);
  CHECK(answers[0].error.empty());
  CHECK(answers[1].order == 8);
  CHECK(answers[1].error == "no directory is named");
}

}  // namespace checkpoint_demotion_test
