#include "supervisor/console/bar_fold.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <string_view>

namespace robustrun::supervisor {
namespace bar_fold_test {

wire::Output from(std::uint32_t rank, std::string_view bytes, bool is_stderr = true) {
  wire::Output output;
  output.rank = base::Rank{rank};
  output.is_stderr = is_stderr;
  output.bytes = bytes;
  return output;
}

std::string shown(const BarFold& fold) {
  const auto bar = fold.bar();
  return bar ? bar->text : "none";
}

TEST_CASE("ordinary lines pass, with either line end") {
  BarFold fold;
  CHECK(fold.take(from(0, "one\ntwo\r\nthree")) == "one\ntwo\r\nthree");
  CHECK(shown(fold) == "none");
}

TEST_CASE("a bar is shown in its newest state and becomes a line when other text follows") {
  BarFold fold;
  CHECK(fold.take(from(0, "begins\n\rtrain:  0%|")).starts_with("begins\n"));
  CHECK(shown(fold) == "train:  0%|");
  CHECK(fold.take(from(0, " 0/9")).empty());
  CHECK(shown(fold) == "train:  0%| 0/9");
  CHECK(fold.take(from(0, "\rtrain: 50%| 4/9\r")).empty());
  CHECK(shown(fold) == "train: 50%| 4/9");
  CHECK(fold.take(from(0, "\rtrain: 100%| 9/9\n")).empty());
  CHECK(shown(fold) == "train: 100%| 9/9");
  CHECK(fold.take(from(0, "evaluated\n")) == "train: 100%| 9/9\nevaluated\n");
  CHECK(shown(fold) == "none");
}

TEST_CASE("one bar follows another without a line between them") {
  BarFold fold;
  CHECK(fold.take(from(0, "\repoch 1: 99%\repoch 1: 100%\n")).empty());
  std::string rest = fold.take(from(0, "\repoch 2: 0%"));
  rest += fold.take(from(0, "\repoch 2: 10%"));
  rest += fold.take(from(0, "\repoch 2: 20%"));
  CHECK(rest == "epoch 1: 100%\n");
  CHECK(shown(fold) == "epoch 2: 20%");
}

TEST_CASE("a bar with one state is not lost") {
  BarFold fold;
  CHECK(fold.take(from(0, "\rA: 100%\n\rB: 100%\n\rC: 100%\nend\n")) ==
        "A: 100%\nB: 100%\nC: 100%\nend\n");
}

TEST_CASE("inner bars are not shown and do not end the outer one") {
  BarFold fold;
  std::string rest;
  for (int i = 0; i < 3; ++i) {
    rest += fold.take(from(0, "\repochs: 3" + std::to_string(i) + "%"));
    for (int k = 0; k < 4; ++k) {
      rest += fold.take(from(0, "\n"));
      rest += fold.take(from(0, "\rsteps: 1" + std::to_string(k) + "%"));
      rest += fold.take(from(0, "\x1b[A"));
    }
  }
  CHECK(rest.empty());
  CHECK(shown(fold) == "epochs: 32%");
  // Two lines below, as with three bars.
  rest += fold.take(from(0, "\n\n\rbatches: 5%\x1b[A\x1b[A"));
  CHECK(rest.empty());
  CHECK(shown(fold) == "epochs: 32%");
}

TEST_CASE("the lowest rank's bar is shown, and the same bars of others end without a line") {
  BarFold fold;
  CHECK(fold.take(from(3, "\rtrain: 10%")).empty());
  CHECK(fold.bar()->rank == base::Rank{3});
  CHECK(fold.take(from(1, "\rtrain: 12%")).empty());
  CHECK(fold.bar()->rank == base::Rank{1});
  CHECK(fold.bar()->others == 1);
  CHECK(fold.take(from(3, "\rtrain: 100%\nrank 3 is done\n")) == "rank 3 is done\n");
  CHECK(fold.bar()->others == 0);
  CHECK(fold.take(from(1, "\rtrain: 100%\nrank 1 is done\n")) == "train: 100%\nrank 1 is done\n");
  CHECK(fold.take(from(3, "\rdownload: 3%\rdownload: 100%\nyes\n")) == "download: 100%\nyes\n");
}

TEST_CASE("a line over a bar is shown for every rank") {
  BarFold fold;
  std::string rest;
  for (const std::uint32_t rank : {0U, 1U}) {
    rest += fold.take(from(rank, "\rtrain: 10%"));
    rest += fold.take(from(rank, "\r          \rlr of " + std::string(rank + 1, 'x') + "\n"));
    for (const char* state : {"\rtrain: 20%", "\rtrain: 30%", "\rtrain: 40%"}) {
      rest += fold.take(from(rank, state));
    }
  }
  CHECK(rest == "lr of x\nlr of xx\n");
}

TEST_CASE("bars that end with their attempt become lines, and text below them is not lost") {
  BarFold fold;
  CHECK(fold.take(from(0, "\rtrain: 10%")).empty());
  CHECK(fold.take(from(1, "\rtrain: 11%\n")).empty());
  CHECK(fold.take(from(1, "Killed")).empty());
  const auto lines = fold.end();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].bytes == "train: 10%\n");
  CHECK(lines[1].rank == base::Rank{1});
  CHECK(lines[1].bytes == "Killed");
  CHECK(shown(fold) == "none");
  CHECK(fold.end().empty());
}

TEST_CASE("a bar that has ended leaves the bottom though nothing follows") {
  BarFold fold;
  CHECK(fold.take(from(0, "\rdownload: 99%\rdownload: 100%\n")).empty());
  CHECK(fold.take(from(1, "\rtrain: 5%")).empty());
  CHECK(fold.end_quiet().empty());  // a way up may follow
  const auto ended = fold.end_quiet();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].bytes == "download: 100%\n");
  CHECK(shown(fold) == "train: 5%");  // still open, however slow
  CHECK(fold.end_quiet().empty());
  CHECK(fold.take(from(0, "begins\n")) == "begins\n");
}

TEST_CASE("no byte of a long line after a bar is lost") {
  BarFold fold;
  CHECK(fold.take(from(0, "\rtrain: 100%\n")).empty());
  std::string rest;
  const std::string text(20'000, 'x');
  for (std::size_t at = 0; at < text.size(); at += 1000) {
    rest += fold.take(from(0, std::string_view(text).substr(at, 1000)));
  }
  rest += fold.take(from(0, "\n"));
  CHECK(rest == "train: 100%\n" + text + "\n");
}

TEST_CASE("colours and control characters of a bar stay out of the live area") {
  BarFold fold;
  (void)fold.take(from(0, "\r\x1b[32mtrain\x1b[0m: 5%\x07\x1b]0;title"));
  CHECK(shown(fold).starts_with("train: 5%"));
  CHECK(shown(fold).find('\x1b') == std::string::npos);
}

// As rich draws: frames of a display of `lines`, behind those of `before`.
std::string frame(std::size_t before, const std::string& lines) {
  std::string bytes = before == 0 ? "" : "\r\x1b[2K";
  for (std::size_t i = 1; i < before; ++i) bytes += "\x1b[1A\x1b[2K";
  return bytes + lines;
}
constexpr const char* kHide = "\x1b[?25l";
constexpr const char* kShow = "\x1b[?25h";

TEST_CASE("a display of rich is a bar from its first byte on, and a line once it has ended") {
  BarFold fold;
  CHECK(fold.take(from(0, std::string("begins\n") + kHide +
                              frame(0, "train \x1b[35m━━╺\x1b[0m 1%"))) == "begins\n");
  CHECK(fold.take(from(0, frame(1, "train ━╸━ 50%"))).empty());
  CHECK(shown(fold) == "train ━━╺ 1%");  // a frame is known to be whole when the next one begins
  CHECK(fold.take(from(0, frame(1, "train ━━━ 99%"))).empty());
  CHECK(shown(fold) == "train ━╸━ 50%");
  CHECK(fold.take(from(0, frame(1, "train ━━━ 100%") + "\n" + kShow + "ends\n")) ==
        "train ━━━ 100%\nends\n");
  CHECK(shown(fold) == "none");
}

TEST_CASE("what is printed over a display of several lines is ordinary output") {
  BarFold fold;
  std::string rest = fold.take(from(0, kHide + frame(0, "a 1%\nb 1%\nc 1%")));
  rest += fold.take(from(0, frame(3, "hello\nworld\na 2%\nb 2%\nc 2%")));
  rest += fold.take(from(0, frame(3, "a 3%\nb 3%\nc 3%")));
  CHECK(rest == "hello\nworld\n");
  CHECK(shown(fold) == "a 2%");
  CHECK(fold.take(from(0, frame(3, "a 4%\nb 4%\nc 4%") + "\n" + kShow)) == "a 4%\nb 4%\nc 4%\n");
}

TEST_CASE("a line printed over a display that is not drawn again comes soon") {
  BarFold fold;
  CHECK(fold.take(from(0, kHide + frame(0, "a 1%") + frame(1, "hello\na 2%"))).empty());
  std::string late;
  for (int i = 0; i < 10; ++i) {
    for (const wire::Output& output : fold.end_quiet()) late += output.bytes;
  }
  CHECK(late == "hello\n");
  CHECK(shown(fold) == "a 1%");
  CHECK(fold.take(from(0, frame(1, "a 3%") + frame(1, "a 4%"))).empty());
}

TEST_CASE("a display that leaves nothing leaves nothing") {
  BarFold fold;
  CHECK(fold.take(from(0, kHide + frame(0, "⠋ loads") + frame(1, "⠙ loads") + "\n" + kShow +
                              "\r\x1b[1A\x1b[2Kloaded\n")) == "loaded\n");
  CHECK(shown(fold) == "none");
}

TEST_CASE("displays of several ranks are one, whatever their state when they end") {
  BarFold fold;
  const std::string begin = kHide + frame(0, "⠋ train ━╺━ 1%") + frame(1, "⠙ train ━━╺ 2%");
  CHECK(fold.take(from(0, begin)).empty());
  CHECK(fold.take(from(1, begin)).empty());
  CHECK(fold.bar()->others == 1);
  CHECK(fold.take(from(1, frame(1, "⠹ train ━━━ 100%") + "\n" + kShow + "rank 1 is done\n")) ==
        "rank 1 is done\n");
  const auto lines = fold.end();  // rank 0 was killed
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].bytes == "⠙ train ━━╺ 2%\n");
}

TEST_CASE("lines are not lost where a hidden cursor is no display") {
  BarFold fold;
  CHECK(fold.take(from(1, std::string(kHide) + "one\ntwo\n" + kShow + "three\n")) ==
        "one\ntwo\nthree\n");
  std::string rest = fold.take(from(1, kHide));
  for (int i = 0; i < 3000; ++i) rest += fold.take(from(1, "a line of some length, number 1234\n"));
  CHECK(rest.size() > 30'000);  // it is not held for ever
  for (const wire::Output& output : fold.end()) rest += output.bytes;
  CHECK(rest.size() == std::size_t{3000} * 35);
}

TEST_CASE("lines behind a hidden cursor come soon, and colours alone are not held for ever") {
  BarFold fold;
  CHECK(fold.take(from(0, std::string(kHide) + "one\ntwo\n")).empty());
  std::string late;
  for (int i = 0; i < 10; ++i) {
    for (const wire::Output& output : fold.end_quiet()) late += output.bytes;
  }
  CHECK(late == "one\ntwo\n");
  std::size_t colours = 0;
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "\x1b[35m";
  for (int i = 0; i < 10; ++i) colours += fold.take(from(0, many)).size();
  CHECK(colours > 100'000);
}

TEST_CASE("a display may come in any pieces, and behind another bar") {
  const std::string bytes = "\rload: 100%\n" + std::string(kHide) + frame(0, "a 1%\nb 1%") +
                            frame(2, "hello\na \x1b]8;;file://x\x1b\\2%\nb 2%") +
                            frame(2, "a 3%\nb 3%") + "\n" + kShow + "done\n";
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    BarFold fold;
    std::string rest;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      rest += fold.take(from(0, std::string_view(bytes).substr(at, size)));
    }
    for (const wire::Output& output : fold.end()) rest += output.bytes;
    CAPTURE(size);
    CHECK(rest.starts_with("load: 100%\n"));
    CHECK(rest.ends_with("done\n"));
    CHECK(rest.find("b 1%") == std::string::npos);
  }
}

TEST_CASE("a bar's memory is bounded, and random bytes are taken in any pieces") {
  BarFold fold;
  for (int i = 0; i < 100; ++i) (void)fold.take(from(0, "\r" + std::string(10'000, 'x')));
  CHECK(shown(fold).size() <= 4096);
  const unsigned seed = std::random_device{}();
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    BarFold one;
    std::string plain;  // only lines without '\r' and escapes come back whole
    for (int i = 0; i < 50; ++i) {
      static constexpr std::string_view kPieces[] = {"\r", "\n",        "\x1b[A",   "\x1b",
                                                     "[",  "7%",        "word",     "\x1b[2K",
                                                     " ",  "\x1b[?25l", "\x1b[?25h"};
      std::string bytes;
      for (unsigned k = random() % 4; k > 0; --k) bytes += kPieces[random() % std::size(kPieces)];
      const std::string rest =
          one.take(from(static_cast<std::uint32_t>(random() % 3), bytes, random() % 2 == 0));
      CHECK(rest.size() <= 100'000);
      (void)one.bar();
    }
    (void)one.end();
  }
}

}  // namespace bar_fold_test
}  // namespace robustrun::supervisor
