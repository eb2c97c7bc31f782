#include "supervisor/console/line_fold.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace line_fold_test {

using namespace robustrun;
using namespace robustrun::supervisor;

namespace {

using namespace std::chrono_literals;

wire::Output output_of(std::uint32_t rank, std::string bytes, bool is_stderr = false) {
  wire::Output output;
  output.rank = {rank};
  output.local_rank = {rank % 8};
  output.is_stderr = is_stderr;
  output.bytes = std::move(bytes);
  return output;
}

// Shows what comes out as the console would.
struct Screen {
  explicit Screen(LineFoldLimits limits = {}) : folder(limits) {}

  void put(std::uint32_t rank, std::string bytes, bool is_stderr = false) {
    show(folder.take(output_of(rank, std::move(bytes), is_stderr), now));
  }
  void wait(base::Nanos time) {
    now += time;
    show(folder.due(now));
  }
  void show(const std::vector<FoldedOutput>& shown) {
    for (const FoldedOutput& each : shown) {
      text += "[" + describe_ranks(each.ranks) + (each.output.is_stderr ? "!] " : "] ");
      text += each.output.bytes;
    }
  }
  std::string take_text() { return std::exchange(text, {}); }

  LineFolder folder;
  base::Nanos now = 5s;
  std::string text;
};

std::vector<base::Rank> ranks(std::initializer_list<std::uint32_t> values) {
  std::vector<base::Rank> out;
  for (const std::uint32_t value : values) out.push_back({value});
  return out;
}

}  // namespace

TEST_CASE("a line that every rank prints is shown once, a second after the first") {
  Screen screen;
  for (std::uint32_t rank = 0; rank < 128; ++rank) screen.put(127 - rank, "loading\n");
  CHECK(screen.take_text().empty());
  CHECK(screen.folder.next_due() == 6s);
  screen.wait(999ms);
  CHECK(screen.take_text().empty());
  screen.wait(1ms);
  CHECK(screen.take_text() == "[ranks 0-127] loading\n");
  CHECK_FALSE(screen.folder.next_due().has_value());
  CHECK(screen.folder.held_bytes() == 0);
}

TEST_CASE("lines of one rank alone pass under its own name, together") {
  Screen screen;
  screen.put(3, "a\nb\n");
  screen.put(3, "c\n");
  screen.put(4, "d\n");
  screen.wait(1s);
  CHECK(screen.take_text() == "[rank 3] a\nb\nc\n[rank 4] d\n");
}

TEST_CASE("the first rank's place on its node is kept for its prefix") {
  LineFolder folder;
  CHECK(folder.take(output_of(9, "x\n"), 0s).empty());
  const auto shown = folder.flush();
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].output.rank.value == 9);
  CHECK(shown[0].output.local_rank.value == 1);
}

TEST_CASE("the order of a rank's lines is kept, across both streams") {
  Screen screen;
  screen.put(0, "a\nb\n");
  screen.put(1, "b\na\n");  // its a must stay behind its b
  screen.put(0, "err\n", true);
  screen.put(1, "err\n", true);
  screen.put(0, "a\n");
  screen.put(1, "b\n");
  screen.wait(1s);
  CHECK(screen.take_text() ==
        "[rank 0] a\n[ranks 0-1] b\n[rank 1] a\n[ranks 0-1!] err\n[rank 0] a\n[rank 1] b\n");
}

TEST_CASE("a line that a rank prints twice is shown twice") {
  Screen screen;
  screen.put(0, "warn\nwarn\n");
  screen.put(1, "warn\nwarn\nwarn\n");
  screen.wait(1s);
  CHECK(screen.take_text() == "[ranks 0-1] warn\n[ranks 0-1] warn\n[rank 1] warn\n");
}

TEST_CASE("the streams are not mixed, and a later second is another line") {
  Screen screen;
  screen.put(0, "x\n");
  screen.put(1, "x\n", true);
  screen.wait(500ms);
  screen.put(2, "x\n");
  screen.wait(500ms);
  CHECK(screen.take_text() == "[ranks 0,2] x\n[rank 1!] x\n");
  screen.put(3, "x\n");
  screen.wait(999ms);
  CHECK(screen.take_text().empty());
  screen.wait(1ms);
  CHECK(screen.take_text() == "[rank 3] x\n");
}

TEST_CASE("take() lets go what is due by then") {
  Screen screen;
  screen.put(0, "old\n");
  screen.now += 2s;
  screen.put(1, "old\n");
  CHECK(screen.take_text() == "[rank 0] old\n");
}

TEST_CASE("progress bars are lines; a line in pieces is not folded") {
  Screen screen;
  for (const std::uint32_t rank : {0U, 1U}) screen.put(rank, "10%\r20%\rdone\r\n");
  screen.wait(1s);
  CHECK(screen.take_text() == "[ranks 0-1] 10%\r[ranks 0-1] 20%\r[ranks 0-1] done\r\n");
  for (const std::uint32_t rank : {0U, 1U}) screen.put(rank, "name? ");
  for (const std::uint32_t rank : {0U, 1U}) screen.put(rank, "ada\nnext\n");
  screen.wait(1s);
  CHECK(screen.take_text() ==
        "[rank 0] name? [rank 1] name? [rank 0] ada\nnext\n[rank 1] ada\nnext\n");
}

TEST_CASE("memory is bounded: the oldest lines go early, nothing is lost") {
  Screen screen({.window = 1s, .held_bytes_max = 4096});
  std::map<std::uint32_t, std::string> sent;
  for (std::uint32_t i = 0; i < 500; ++i) {
    const std::string line = std::string(i % 40, 'x') + std::to_string(i) + "\n";
    screen.put(i % 7, line);
    sent[i % 7] += line;
    CHECK(screen.folder.held_bytes() <= 4096);
  }
  CHECK_FALSE(screen.text.empty());
  screen.show(screen.folder.flush());
  CHECK(screen.folder.held_bytes() == 0);
  std::size_t size = 0;
  for (const auto& [rank, text] : sent) size += text.size();
  CHECK(screen.text.size() > size);
  screen.take_text();
  screen.put(0, std::string(10'000, 'y') + "\n");  // one line beyond the bound passes at once
  CHECK(screen.take_text().size() > 10'000);
}

TEST_CASE("more ranks than can be remembered let everything go") {
  Screen screen({.window = 1s, .ranks_max = 2});
  screen.put(0, "a\n");
  screen.put(1, "a\n");
  screen.put(2, "a\n");
  CHECK(screen.take_text() == "[ranks 0-1] a\n");
  screen.wait(1s);
  CHECK(screen.take_text() == "[rank 2] a\n");
}

TEST_CASE("sets of ranks are shown compactly") {
  CHECK(describe_ranks(ranks({5})) == "rank 5");
  CHECK(describe_ranks(ranks({0, 1})) == "ranks 0-1");
  CHECK(describe_ranks(ranks({0, 2, 3, 4, 9})) == "ranks 0,2-4,9");
  CHECK(describe_ranks(ranks({0, 2, 4, 6})) == "ranks 0,2,4,6");
  CHECK(describe_ranks(ranks({0, 2, 4, 6, 8, 9})) == "6 ranks");
  CHECK(folded_prefix(ranks({0, 1}), false) == "[ranks 0-1] ");
  CHECK(folded_prefix(ranks({0, 1}), true) == "\x1b[2m[ranks 0-1]\x1b[0m ");
}

}  // namespace line_fold_test
