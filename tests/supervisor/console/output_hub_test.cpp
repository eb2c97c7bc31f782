#include "supervisor/console/output_hub.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/support/loop.h"

namespace robustrun::supervisor::output_hub_test {
namespace {

using namespace std::chrono_literals;
using base::Errc;

struct Fixture {
  explicit Fixture(OutputLimits limits = {}) : hub(loop.executor(), limits) {}

  // An answer that is there at once.
  OutputAnswer now(std::optional<std::uint64_t> from, std::uint64_t lines = 0,
                   std::uint64_t watcher = 0) {
    std::optional<OutputAnswer> got;
    hub.ask({watcher, from, lines, 0s}, [&](base::Result<OutputAnswer> answer) {
      REQUIRE(answer);
      got = *std::move(answer);
    });
    REQUIRE(got);
    return *got;
  }

  robustrun::test::Loop loop;
  OutputHub hub;
};

TEST_CASE("a watcher sees both streams in their order, from where it asks") {
  Fixture f;
  f.hub.append(false, "one\n");
  const std::uint64_t begin = f.now({}).position;
  CHECK(begin == 4);
  f.hub.append(false, "two\n");
  f.hub.append(true, "bad\n");
  f.hub.append(false, "three\n");
  const OutputAnswer answer = f.now(begin);
  CHECK(answer.bytes == "two\nbad\nthree\n");
  REQUIRE(answer.pieces.size() == 3);
  CHECK(answer.pieces[1].is_stderr);
  CHECK(answer.pieces[1].bytes == 4);
  CHECK(answer.dropped == 0);
  CHECK(f.now(answer.position).bytes.empty());
}

TEST_CASE("history is counted in lines, and an open one counts") {
  Fixture f;
  f.hub.append(false, "one\ntwo\n");
  f.hub.append(true, "three\n");
  CHECK(f.now({}, 1).bytes == "three\n");
  CHECK(f.now({}, 2).bytes == "two\nthree\n");
  CHECK(f.now({}, 99).bytes == "one\ntwo\nthree\n");
  f.hub.append(false, "fo");
  CHECK(f.now({}, 1).bytes == "fo");
  CHECK(f.now({}, 2).bytes == "three\nfo");
}

TEST_CASE("what is not kept any more is told in bytes, and showing goes on with a whole line") {
  OutputLimits limits;
  limits.kept_bytes = 64 << 10;
  Fixture f(limits);
  const std::string line = std::string(99, 'x') + "\n";
  for (int i = 0; i < 10000; ++i) f.hub.append(false, line);
  std::uint64_t shown = 0;
  OutputAnswer answer = f.now(0);
  CHECK(answer.dropped > 900'000);
  CHECK(answer.dropped % line.size() == 0);
  const std::uint64_t dropped = answer.dropped;
  while (!answer.bytes.empty()) {
    shown += answer.bytes.size();
    answer = f.now(answer.position);
  }
  CHECK(shown + dropped == 10000 * line.size());
  CHECK(shown <= limits.kept_bytes);
}

TEST_CASE("one huge piece keeps its end alone") {
  OutputLimits limits;
  limits.kept_bytes = 1000;
  Fixture f(limits);
  f.hub.append(true, std::string(5000, 'a') + "end\n");
  const OutputAnswer answer = f.now(0);
  CHECK(answer.bytes.size() <= 1000);
  CHECK(answer.bytes.ends_with("end\n"));
  CHECK(answer.dropped + answer.bytes.size() == 5004);
}

TEST_CASE("an answer is bounded; the rest comes with the next one") {
  OutputLimits limits;
  limits.answer_bytes = 10;
  Fixture f(limits);
  f.hub.append(false, "0123456789abcdef\n");
  const OutputAnswer first = f.now(0);
  CHECK(first.bytes == "0123456789");
  CHECK(f.now(first.position).bytes == "abcdef\n");
}

TEST_CASE("a watcher waits for something to show, or for its time") {
  Fixture f;
  std::vector<std::string> got;
  const auto take = [&](base::Result<OutputAnswer> answer) { got.push_back(answer->bytes); };
  f.hub.ask({0, 0, 0, 20s}, take);
  f.hub.ask({0, 0, 0, 5ms}, take);
  REQUIRE(f.loop.run_until([&] { return got.size() == 1; }));
  CHECK(got[0].empty());
  f.hub.append(false, "now\n");
  REQUIRE(f.loop.run_until([&] { return got.size() == 2; }));
  CHECK(got[1] == "now\n");
}

TEST_CASE("too many that wait are refused") {
  OutputLimits limits;
  limits.waiting_max = 2;
  Fixture f(limits);
  std::vector<Errc> refused;
  for (int i = 0; i < 3; ++i) {
    f.hub.ask({0, 0, 0, 20s}, [&](base::Result<OutputAnswer> answer) {
      if (!answer) refused.push_back(answer.error().code);
    });
  }
  REQUIRE(refused.size() == 1);
  CHECK(refused[0] == Errc::kLimit);
}

TEST_CASE("a position from elsewhere means the end") {
  Fixture f;
  f.hub.append(false, "line\n");
  const OutputAnswer answer = f.now(UINT64_MAX);
  CHECK(answer.position == 5);
  CHECK(answer.bytes.empty());
}

TEST_CASE("without watchers the end takes no time") {
  Fixture f;
  f.hub.append(false, "line\n");
  bool done = false;
  f.hub.end([&] { done = true; });
  CHECK(f.loop.run_until([&] { return done; }));
}

TEST_CASE("a waiting watcher gets the end, one that is still reading gets the rest first") {
  OutputLimits limits;
  limits.answer_bytes = 4;
  limits.end_wait = limits.end_wait_max = 30s;
  Fixture f(limits);
  std::optional<OutputAnswer> first;
  f.hub.ask({0, 0, 0, 20s}, [&](base::Result<OutputAnswer> answer) { first = *answer; });
  bool done = false;
  f.hub.append(false, "abcdefgh");
  f.hub.end([&] { done = true; });
  REQUIRE(first);
  CHECK(first->bytes == "abcd");
  CHECK_FALSE(first->ended);
  f.loop.run_for(30ms);
  CHECK_FALSE(done);
  const OutputAnswer rest = f.now(first->position, 0, first->watcher);
  CHECK(rest.bytes == "efgh");
  CHECK(rest.ended);
  REQUIRE(f.loop.run_until([&] { return done; }));
}

TEST_CASE("a watcher that does not ask again is not waited for for long") {
  for (const bool stuck_for_long : {false, true}) {
    OutputLimits limits;
    limits.end_wait = stuck_for_long ? 20ms : 10s;
    limits.end_wait_max = stuck_for_long ? 10s : 20ms;
    Fixture f(limits);
    f.hub.append(false, "line\n");
    CHECK(f.now(0).bytes == "line\n");
    bool done = false;
    f.hub.end([&] { done = true; });
    CHECK(f.loop.run_until([&] { return done; }, 5s));
  }
}

TEST_CASE("no question is answered after the hub is gone") {
  robustrun::test::Loop loop;
  int answers = 0;
  {
    OutputHub hub(loop.executor());
    hub.ask({0, 0, 0, 20s}, [&](const base::Result<OutputAnswer>&) { ++answers; });
    hub.append(false, "x");
  }
  loop.run_for(5ms);
  CHECK(answers == 0);
}

}  // namespace
}  // namespace robustrun::supervisor::output_hub_test
