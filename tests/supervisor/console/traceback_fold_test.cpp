#include "supervisor/console/traceback_fold.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "supervisor/console/limits.h"

namespace traceback_fold_test {

using namespace robustrun;
using namespace robustrun::supervisor;
using namespace std::chrono_literals;

namespace {

std::string shown(TracebackFolder& folder, std::string bytes, std::uint32_t rank = 1,
                  bool is_stderr = true, base::Nanos now = {}) {
  wire::Output output;
  output.rank = {rank};
  output.is_stderr = is_stderr;
  output.bytes = std::move(bytes);
  return folder.take(output, now);
}

const std::string kTraceback =
    "Traceback (most recent call last):\n"
    "  File \"train.py\", line 4, in <module>\n"
    "    step()\n"
    "RuntimeError: Connection reset by peer\n";

TEST_CASE("a traceback becomes its exception while folding is on, for stderr alone") {
  TracebackFolder folder;
  CHECK(shown(folder, kTraceback) == kTraceback);
  CHECK(folder.set(TracebackFold::kAll).empty());
  const std::string folded =
      "RuntimeError: Connection reset by peer [4 lines in the log of rank 1]\n";
  CHECK(shown(folder, "saving\n" + kTraceback + "saved\n") == "saving\n" + folded + "saved\n");
  CHECK(shown(folder, kTraceback, 1, false) == kTraceback);
  CHECK(folder.set(TracebackFold::kNone).empty());
  CHECK(shown(folder, kTraceback) == kTraceback);
}

TEST_CASE("the same in any pieces, and between two ranks") {
  for (std::size_t size = 1; size < 40; ++size) {
    CAPTURE(size);
    TracebackFolder folder;
    CHECK(folder.set(TracebackFold::kAll).empty());
    const std::string text = "a\n" + kTraceback + "b\n";
    std::string first;
    std::string second;
    // Lines begin whole, as the agents send them; a traceback's own lines come in pieces.
    first += shown(folder, "a\nTraceback (most recent call last):\n", 1);
    second += shown(folder, "a\nTraceback (most recent call last):\n", 2);
    for (std::size_t at = text.find("  File"); at < text.size() - 2; at += size) {
      const std::string piece = text.substr(at, std::min(size, text.size() - 2 - at));
      first += shown(folder, piece, 1);
      second += shown(folder, piece, 2);
    }
    first += shown(folder, "b\n", 1);
    CHECK(first == "a\nRuntimeError: Connection reset by peer [4 lines in the log of rank 1]\nb\n");
    CHECK(second == "a\nRuntimeError: Connection reset by peer [4 lines in the log of rank 2]\n");
  }
}

TEST_CASE("what is left of a traceback that has begun is folded") {
  const std::string text = kTraceback + "after\n";
  const std::size_t exception = text.find("Runtime");
  for (std::size_t at = 0; at <= text.size(); ++at) {
    CAPTURE(at);
    TracebackFolder folder;
    CHECK(folder.set(TracebackFold::kHold).empty());
    const std::string before = shown(folder, text.substr(0, at));
    CHECK(before == text.substr(0, at));
    CHECK(folder.set(TracebackFold::kAll).empty());
    const std::string rest = shown(folder, text.substr(at));
    const bool is_whole_line = at == 0 || text[at - 1] == '\n';
    if (at > exception || at == text.size()) {
      CHECK(rest == text.substr(at));
    } else if (at == 0 || text.find('\n') < at) {
      const std::string line = is_whole_line ? "" : text.substr(at, text.find('\n', at) + 1 - at);
      CHECK(rest.starts_with(line + "RuntimeError: Connection reset by peer ["));
      CHECK(rest.ends_with(" lines in the log of rank 1]\nafter\n"));
    }
  }
}

TEST_CASE("a traceback soon after another rank's waits for the failure, and is then folded") {
  TracebackFolder folder;
  CHECK(folder.set(TracebackFold::kHold).empty());
  CHECK(shown(folder, kTraceback, 1, true, 0s) == kTraceback);
  CHECK(shown(folder, "saving\n" + kTraceback + "saved\n", 2, true, 1s) == "saving\n");
  CHECK(shown(folder, "in any", 2, true, 1s).empty());
  CHECK(shown(folder, "other\n", 3, true, 1s) == "other\n");
  CHECK(shown(folder, "of another stream\n", 2, false, 1s) == "of another stream\n");
  CHECK(shown(folder, kTraceback, 1, true, 1s) == kTraceback);  // the first rank's own
  CHECK(folder.next_due() == 1s + kTracebackHold);
  CHECK(folder.due(1s + kTracebackHold - 1ns).empty());
  const auto folded = folder.set(TracebackFold::kAll);
  REQUIRE(folded.size() == 1);
  CHECK(folded[0].rank.value == 2);
  CHECK(folded[0].is_stderr);
  CHECK(folded[0].bytes ==
        "RuntimeError: Connection reset by peer [4 lines in the log of rank 2]\nsaved\nin any");
  CHECK(shown(folder, " case\n", 2, true, 2s) == " case\n");
  CHECK_FALSE(folder.next_due());
}

TEST_CASE(
    "a held traceback is shown whole if no worker fails, at the end, or if too much is held") {
  TracebackFolder folder;
  CHECK(folder.set(TracebackFold::kHold).empty());
  const std::string begun = kTraceback.substr(0, 50);
  const auto hold = [&](std::string bytes, base::Nanos now) {
    CHECK(shown(folder, kTraceback, 1, true, now) == kTraceback);
    CHECK(shown(folder, std::move(bytes), 2, true, now).empty());
  };
  const auto is = [](const std::vector<wire::Output>& outputs, const std::string& bytes) {
    return outputs.size() == 1 && outputs[0].bytes == bytes;
  };
  hold(begun, 0s);
  CHECK(is(folder.due(kTracebackHold), begun));
  // What follows of it is not held a second time, and is folded once a worker has failed.
  CHECK(shown(folder, kTraceback.substr(50, 10), 2, true, 2s) == kTraceback.substr(50, 10));
  CHECK(folder.set(TracebackFold::kAll).empty());
  CHECK(shown(folder, kTraceback.substr(60), 2, true, 2s).ends_with("in the log of rank 2]\n"));

  CHECK(folder.set(TracebackFold::kHold).empty());
  hold(kTraceback, 10s);
  CHECK(is(folder.flush(), kTraceback));
  hold(kTraceback, 20s);
  CHECK(is(folder.set(TracebackFold::kNone), kTraceback));
  CHECK(folder.set(TracebackFold::kHold).empty());
  hold(kTraceback + std::string(kTracebackHeldMax, 'x'), 30s);
  CHECK(folder.next_due() == 0s);
  CHECK(folder.due(30s).size() == 1);
  CHECK(folder.due(40s).empty());

  // Long after the other rank's.
  CHECK(shown(folder, kTraceback, 1, true, 50s) == kTraceback);
  CHECK(shown(folder, kTraceback, 3, true, 50s + kTracebackFollows) == kTraceback);
}

TEST_CASE(
    "of several that are held, each has its time, and blank lines before them are not repeated") {
  TracebackFolder folder;
  CHECK(folder.set(TracebackFold::kHold).empty());
  CHECK(shown(folder, kTraceback + "\n", 2, true, 0s) == kTraceback + "\n");
  CHECK(shown(folder, kTraceback, 1, true, 10s) == kTraceback);
  CHECK(shown(folder, kTraceback, 3, true, 10s).empty());
  CHECK(shown(folder, kTraceback + "saved\n", 2, true, 10s + 1ms).empty());
  CHECK(folder.next_due() == 10s + kTracebackHold);
  CHECK(folder.due(10s + kTracebackHold).size() == 1);
  CHECK(folder.next_due() == 10s + 1ms + kTracebackHold);
  const auto folded = folder.set(TracebackFold::kAll);
  REQUIRE(folded.size() == 1);
  CHECK(folded[0].bytes ==
        "RuntimeError: Connection reset by peer [4 lines in the log of rank 2]\nsaved\n");
}

TEST_CASE("the traceback of the rank that failed first is shown whole, whichever came before") {
  TracebackFolder folder;
  CHECK(folder.set(TracebackFold::kHold).empty());
  CHECK(shown(folder, kTraceback, 1, true, 0s) == kTraceback);
  CHECK(shown(folder, kTraceback, 2, true, 1s).empty());
  CHECK(shown(folder, kTraceback + "rest", 3, true, 1s).empty());
  const auto folded = folder.set(TracebackFold::kAll, base::Rank{3});
  REQUIRE(folded.size() == 2);
  CHECK(folded[0].bytes.ends_with("[4 lines in the log of rank 2]\n"));
  CHECK(folded[1].bytes == kTraceback + "rest");
  CHECK(shown(folder, " of a line\n" + kTraceback, 3, true, 2s) ==
        " of a line\nRuntimeError: Connection reset by peer [4 lines in the log of rank 3]\n");
}

TEST_CASE("torch's prefix, chained exceptions and long ones") {
  TracebackFolder folder;
  CHECK(folder.set(TracebackFold::kAll).empty());
  CHECK(shown(folder,
              "[rank1]: Traceback (most recent call last):\n"
              "[rank1]:   File \"train.py\", line 4\n"
              "[rank1]: ValueError: x\n") ==
        "[rank1]: ValueError: x [3 lines in the log of rank 1]\n");
  CHECK(shown(folder, "after\n") == "after\n");
  CHECK(shown(folder,
              kTraceback +
                  "\nDuring handling of the above exception, another exception occurred:\n\n" +
                  kTraceback + "\nend\n") ==
        "RuntimeError: Connection reset by peer [4 lines in the log of rank 1]\n"
        "RuntimeError: Connection reset by peer [6 lines in the log of rank 1]\n\nend\n");
  const std::string text =
      shown(folder, "Traceback (most recent call last):\nE: " + std::string(5000, 'x') + "\n");
  CHECK(text.size() < kTracebackLineMax + 60);
  CHECK(text.find("x... [2 lines in the log of rank 1]\n") != std::string::npos);
}

TEST_CASE("other output passes unchanged, also without a line's end") {
  TracebackFolder folder;
  CHECK(folder.set(TracebackFold::kAll).empty());
  for (const char* bytes : {"10%", "\r20%", "\n", "", "Traceback", " (most recent call last):\n",
                            "  File \"x\"\n", "\n\n", "done\n"}) {
    CAPTURE(bytes);
    CHECK(shown(folder, bytes) == bytes);
  }
  const std::string long_line = std::string(5000, 'x') + "\n";
  CHECK(shown(folder, long_line + kTraceback + long_line).ends_with("rank 1]\n" + long_line));
  CHECK(shown(folder, long_line) == long_line);
}

}  // namespace
}  // namespace traceback_fold_test
