// How fast a worker's data moves now, compared with before.

#include <doctest/doctest.h>

#include "tracer/limits.h"
#include "tracer/traffic_watch.h"

namespace traffic_watch_test {

using namespace robustrun;
using namespace robustrun::tracer;
using base::Nanos;

namespace {

constexpr std::uint64_t kComm = 7;

// One look a second at totals that grow by 10 collectives of 1 MB and by 10 MB to peer 1.
struct Worker {
  TrafficWatch watch;
  Traffic traffic;
  Nanos now{};
  Worker() {
    traffic.moved.push_back({kComm, 4, OpKind::kAllReduce, 20, 0, 0, {}});
    traffic.sent.push_back({kComm, 1, 0, {}});
  }
  void second(double ns_per_byte, std::uint64_t collectives = 10) {
    now += std::chrono::seconds(1);
    Moved& moved = traffic.moved.front();
    Sent& sent = traffic.sent.front();
    const std::uint64_t bytes = collectives * 1'000'000;
    const Nanos took(static_cast<std::int64_t>(ns_per_byte * static_cast<double>(bytes)));
    moved.count += collectives;
    moved.bytes += bytes;
    moved.busy += took;
    sent.bytes += bytes;
    sent.net_wait += took;
    watch.look(now, traffic);
  }
  [[nodiscard]] bool has_fallen() const { return watch.has_fallen(traffic.moved.front()); }
  [[nodiscard]] Membership described() const {
    std::vector<Membership> comms(1);
    comms[0].comm = kComm;
    EdgeTime edge;
    edge.peer = 1;
    comms[0].edges.push_back(edge);
    watch.describe(comms);
    return comms[0];
  }
};

}  // namespace

TEST_CASE("the recent window is compared with those before it") {
  Worker worker;
  for (int i = 0; i < 20; ++i) worker.second(0.1);
  CHECK_FALSE(worker.has_fallen());
  Membership found = worker.described();
  REQUIRE(found.rates.size() == 1);
  CHECK(found.rates[0].count == 30);
  CHECK(found.rates[0].bytes == 30'000'000);
  CHECK(found.rates[0].usual == doctest::Approx(0.1));
  CHECK(found.edges[0].usual == doctest::Approx(0.1));
  CHECK(found.edges[0].recent_bytes == 30'000'000);

  int seconds = 0;
  while (!worker.has_fallen() && seconds < 10) {
    worker.second(0.2);
    ++seconds;
  }
  CHECK(seconds <= 3);
  for (int i = 0; i < 3; ++i) worker.second(0.2);
  found = worker.described();
  CHECK(found.rates[0].usual == doctest::Approx(0.1));
  CHECK(found.edges[0].recent_wait == Nanos(6'000'000));
}

TEST_CASE("noise, too short a history and too little traffic are no change") {
  Worker noisy;
  for (int i = 0; i < 60; ++i) {
    noisy.second(0.1 + 0.03 * (i * 7 % 5) / 4);
    CHECK_FALSE(noisy.has_fallen());
  }
  Worker young;
  for (int i = 0; i < 6; ++i) young.second(0.1);
  for (int i = 0; i < 4; ++i) young.second(0.3);
  CHECK_FALSE(young.has_fallen());
  Worker idle;
  for (int i = 0; i < 20; ++i) idle.second(0.1);
  for (int i = 0; i < 5; ++i) idle.second(0.1, 0);
  idle.second(5, 1);
  CHECK_FALSE(idle.has_fallen());
}

TEST_CASE("a new communicator with the same key has no history, a missing one is forgotten") {
  Worker worker;
  for (int i = 0; i < 20; ++i) worker.second(0.1);
  worker.traffic.moved.front() = {kComm, 4, OpKind::kAllReduce, 20, 0, 0, {}};
  for (int i = 0; i < 5; ++i) worker.second(1);
  CHECK_FALSE(worker.has_fallen());
  worker.watch.look(worker.now + std::chrono::seconds(1), {});
  CHECK(worker.described().rates.empty());
}

}  // namespace traffic_watch_test
