// How many collectives the furthest rank has done, while communicators come and go.
#include "supervisor/watch/collective_count.h"

#include <doctest/doctest.h>

#include "supervisor/limits.h"

namespace robustrun::supervisor::collective_count_test {
namespace {

constexpr base::Rank kRank{1};
constexpr std::uint64_t kA = 7, kB = 8;

wire::CommunicatorProgress one(std::uint64_t comm, std::uint64_t done) {
  return {.comm = comm, .entered = done, .done = done, .head_age = {}};
}

TEST_CASE("a communicator that is destroyed does not stop the count of the others") {
  CollectiveCount count;
  CHECK(count.done() == 0);
  count.take(kRank, {one(kA, 1000), one(kB, 10)});
  CHECK(count.done() == 1010);
  count.take(kRank, {one(kB, 20)});
  CHECK(count.done() == 1020);
  count.take(kRank, {one(kB, 30)});
  CHECK(count.done() == 1030);
  count.take(kRank, {one(kB, 30)});
  CHECK(count.done() == 1030);
}

TEST_CASE("a communicator made anew with the same key counts from its beginning") {
  CollectiveCount count;
  count.take(kRank, {one(kA, 1000)});
  count.take(kRank, {one(kA, 2)});
  CHECK(count.done() == 1002);
  count.take(kRank, {one(kA, 3)});
  CHECK(count.done() == 1003);
}

TEST_CASE("the furthest rank counts, until the attempt is over") {
  CollectiveCount count;
  count.take({0}, {one(kA, 5)});
  count.take({1}, {one(kA, 7)});
  count.take({0}, {one(kA, 6)});
  CHECK(count.done() == 7);
  count.begin_attempt();
  CHECK(count.done() == 0);
}

TEST_CASE("communicators beyond the limit do not count") {
  std::vector<wire::CommunicatorProgress> many;
  for (std::uint64_t comm = 0; comm <= kCountedCommunicatorsMax; ++comm) {
    many.push_back(one(comm, 1));
  }
  CollectiveCount count;
  count.take(kRank, many);
  CHECK(count.done() == kCountedCommunicatorsMax);
}

}  // namespace
}  // namespace robustrun::supervisor::collective_count_test
