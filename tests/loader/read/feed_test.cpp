#include "loader/read/feed.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/loader/read/token_folder.h"

namespace feed_test {

using namespace robustrun;
using namespace robustrun::loader;
using loader_test::Folder;
using loader_test::spec_of;

struct Batch {
  std::vector<std::int64_t> tokens, labels, positions;
  std::vector<std::int32_t> segments;
  std::uint64_t labelled = 0;
};

Batch read(Feed& feed, std::uint32_t micro) {
  const std::size_t places = feed.places();
  Batch batch{std::vector<std::int64_t>(places), std::vector<std::int64_t>(places),
              std::vector<std::int64_t>(places),
              std::vector<std::int32_t>(feed.segment_ends(micro)), 0};
  const auto labelled =
      feed.read(micro, {batch.tokens, batch.labels, batch.positions, batch.segments});
  REQUIRE(labelled);
  batch.labelled = *labelled;
  return batch;
}

TEST_CASE("a batch has documents one after the other, then padding") {
  const Folder folder(40, 3);
  auto opened = Feed::open(spec_of(8, 2), folder.path(), 0, 1);
  REQUIRE(opened);
  Feed& feed = **opened;
  REQUIRE(feed.next_step());
  const Batch batch = read(feed, 0);
  CHECK(batch.segments == std::vector<std::int32_t>{0, 3, 6, 8, 11, 14, 16});
  CHECK(batch.labelled == 8);
  CHECK(feed.present()->labels == 8);
  for (const std::size_t begin : {0U, 3U, 8U, 11U}) {
    const std::int64_t first = batch.tokens[begin];
    CHECK(first % 1000 == 0);
    CHECK(batch.tokens[begin + 2] == first + 2);
    CHECK(batch.labels[begin] == first + 1);
    CHECK(batch.labels[begin + 2] == kNoLabel);
    CHECK(batch.positions[begin + 2] == 2);
  }
  CHECK(batch.tokens[7] == 0);
  CHECK(batch.labels[7] == kNoLabel);
}

TEST_CASE("the last label of a part is the first token of the next part") {
  const Folder folder(4, 20);
  auto opened = Feed::open(spec_of(8, 2), folder.path(), 0, 1);
  REQUIRE(opened);
  Feed& feed = **opened;
  std::size_t parts = 0;
  for (int step = 0; step < 6; ++step) {
    REQUIRE(feed.next_step());
    const Batch batch = read(feed, 0);
    for (std::size_t i = 1; i < batch.segments.size(); ++i) {
      const auto last = static_cast<std::size_t>(batch.segments[i]) - 1;
      const std::int64_t token = batch.tokens[last];
      if (token == 0) continue;  // padding
      const bool ends = token % 1000 == 19;
      CHECK(batch.labels[last] == (ends ? kNoLabel : token + 1));
      parts += ends ? 0 : 1;
    }
    CHECK(batch.labelled == feed.present()->labels);
  }
  CHECK(parts > 4);
}

TEST_CASE("a state with a document that is not there is refused") {
  const Folder folder(4, 20);
  auto opened = Feed::open(spec_of(8, 2), folder.path(), 0, 1);
  REQUIRE(opened);
  for (const Piece& bad : {Piece{1, 0, 8, 0}, Piece{0, 16, 8, 0}, Piece{0, 0, 8, 4},
                           Piece{0, 0, 9, 0}, Piece{0, 0, 0, 0}}) {
    Cursor cursor;
    cursor.sources.resize(1);
    cursor.carry = {bad};
    CHECK_FALSE((*opened)->seek(cursor));
  }
}

TEST_CASE("text that is not tokenized, and a rank beyond the last one, are refused") {
  const Folder folder(4, 20);
  Spec spec = spec_of(8, 2);
  CHECK_FALSE(Feed::open(spec, folder.path(), 2, 2));
  spec.sources[0].format = Format::kJsonLines;
  spec.sources[0].paths = {"set.idx"};
  const auto opened = Feed::open(spec, folder.path(), 0, 1);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().what.find("set.idx has not been tokenized yet") != std::string::npos);
}

}  // namespace feed_test
