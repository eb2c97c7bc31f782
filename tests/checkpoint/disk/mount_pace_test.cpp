#include "checkpoint/disk/mount_pace.h"

#include <doctest/doctest.h>

#include <chrono>

namespace mount_pace_test {

using namespace robustrun;
using namespace robustrun::checkpoint;

namespace {

MountReading wrote(std::size_t mount, double weight, std::uint64_t megabytes, int milliseconds) {
  return {mount, weight, megabytes << 20U, std::chrono::milliseconds(milliseconds)};
}

}  // namespace

TEST_CASE("mounts that keep up with their weights keep them, whatever the weights") {
  MountPace pace(2);
  CHECK(pace.learn(std::vector{wrote(0, 3, 300, 1000), wrote(1, 1, 100, 1000)}).empty());
  CHECK(pace.of(0) == doctest::Approx(1));
  CHECK(pace.of(1) == doctest::Approx(1));
}

TEST_CASE("a slower mount gets less step by step; below half pace it is reported as slow") {
  MountPace pace(2);
  const std::vector slower = {wrote(0, 1, 100, 1000), wrote(1, 1, 80, 1000)};
  CHECK(pace.learn(slower).empty());
  CHECK(pace.of(1) == doctest::Approx(0.9));
  for (int i = 0; i < 20; ++i) CHECK(pace.learn(slower).empty());
  CHECK(pace.of(1) == doctest::Approx(0.8).epsilon(0.01));

  const std::vector slow = {wrote(0, 1, 100, 1000), wrote(1, 1, 100, 5000)};
  CHECK(pace.learn(slow).empty());  // a single slow save is not reported
  auto drained = pace.learn(slow);
  REQUIRE(drained.size() == 1);
  CHECK(drained.front().first == 1);
  CHECK(drained.front().second.find("20 % of the others' speed") != std::string::npos);
  for (int i = 0; i < 20; ++i) CHECK(pace.learn(slow).size() == 1);
  CHECK(pace.of(1) == doctest::Approx(0.2).epsilon(0.01));
  CHECK(pace.of(0) == doctest::Approx(1));

  // It recovers when it is as fast as the others again.
  for (int i = 0; i < 10; ++i) {
    CHECK(pace.learn(std::vector{wrote(0, 1, 500, 5000), wrote(1, 1, 100, 1000)}).empty());
  }
  CHECK(pace.of(1) > 0.99);
}

TEST_CASE("a mount is never slow for good, and a little data proves nothing") {
  MountPace pace(2);
  (void)pace.learn(std::vector{wrote(0, 1, 1000, 1), wrote(1, 1, 100, 1'000'000)});
  CHECK(pace.of(1) > 0);
  MountPace fresh(2);
  CHECK(fresh.learn(std::vector{wrote(0, 1, 100, 10), wrote(1, 1, 1, 10'000)}).empty());
  CHECK(fresh.of(1) == 1);
}

TEST_CASE(
    "small saves make a mount slow that is slow in all of them, but not one that was slow once") {
  MountPace pace(2);
  const std::vector even = {wrote(0, 1, 8, 80), wrote(1, 1, 8, 80)};
  CHECK(pace.learn(std::vector{wrote(0, 1, 8, 80), wrote(1, 1, 8, 8000)}).empty());
  CHECK(pace.of(1) > 0.9);
  for (int i = 0; i < 100; ++i) CHECK(pace.learn(even).empty());
  CHECK(pace.of(1) > 0.99);
  const std::vector slow = {wrote(0, 1, 8, 80), wrote(1, 1, 8, 400)};
  for (int i = 0; i < 100; ++i) (void)pace.learn(slow);
  CHECK(pace.of(1) < 0.25);
  CHECK(pace.of(0) == doctest::Approx(1));
}

TEST_CASE("a slow mount that gets too little to be measured is tried again") {
  MountPace pace(2);
  const std::vector slow = {wrote(0, 1, 100, 1000), wrote(1, 1, 100, 100'000)};
  for (int i = 0; i < 20; ++i) (void)pace.learn(slow);
  REQUIRE(pace.of(1) < 0.03);
  // States of 40 MB: its part proves nothing until it is large enough, and it is fast again.
  int saves = 0;
  for (; saves < 200 && pace.of(1) < 0.9; ++saves) {
    const auto part = static_cast<std::uint64_t>(40 * pace.of(1) / (1 + pace.of(1)));
    (void)pace.learn(std::vector{wrote(0, 1, 40 - part, 400 - static_cast<int>(part) * 10),
                                 wrote(1, 1, part, static_cast<int>(part) * 10)});
  }
  CHECK(saves < 200);
  // While it is still slow, it rarely gets more than a little.
  for (int i = 0; i < 20; ++i) (void)pace.learn(slow);
  int tries = 0;
  for (int i = 0; i < 200; ++i) {
    const auto part = static_cast<std::uint64_t>(40 * pace.of(1) / (1 + pace.of(1)));
    (void)pace.learn(std::vector{wrote(0, 1, 40 - part, 400 - static_cast<int>(part) * 10),
                                 wrote(1, 1, part, static_cast<int>(part) * 1000)});
    CHECK(pace.of(1) < 0.2);
    tries += part >= 4 ? 1 : 0;
  }
  CHECK(tries > 0);
  CHECK(tries < 40);
}

TEST_CASE("a small fast burst on one mount does not make a mount slow that wrote much") {
  MountPace pace(2);
  CHECK(pace.learn(std::vector{wrote(0, 1, 1000, 1000), wrote(1, 1, 4, 1)}).empty());
  CHECK(pace.of(0) > 0.9);
}

}  // namespace mount_pace_test
