#include "loader/index/pieces.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "loader/read/feed.h"
#include "tests/loader/read/token_folder.h"
#include "tests/scratch_folder.h"

namespace pieces_test {

using namespace robustrun;
using namespace robustrun::loader;
using loader_test::Folder;
using loader_test::write;

constexpr std::uint64_t kSamples = 2 * kPieceRecords + 500;
constexpr std::uint32_t kLength = 5;

// A piece with `count` samples of kLength tokens, from sample `first` on, as class Folder has them.
std::string piece_of(std::uint64_t first, std::uint64_t count) {
  std::string bytes("MMIDIDX\0\0", 9);
  const auto put = [&bytes](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(std::uint64_t{1});
  put(static_cast<std::uint8_t>(TokenType::kInt32));
  put(count);
  put(count + 1);
  for (std::uint64_t i = 0; i < count; ++i) put(kLength);
  for (std::uint64_t i = 0; i < count; ++i) put(i * kLength * 4);
  for (std::uint64_t i = 0; i <= count; ++i) put(i);
  for (std::uint64_t i = first; i < first + count; ++i) {
    for (std::uint64_t j = 0; j < kLength; ++j) put(static_cast<std::int32_t>(i * 1000 + j));
  }
  return bytes;
}

// The same samples as those of `Folder(kSamples, kLength)`, in pieces.
class PieceFolder {
 public:
  PieceFolder() : folder_(kSamples, kLength) {}

  void make(std::uint64_t number) const {
    const std::uint64_t first = number * kPieceRecords;
    write(path(number), piece_of(first, std::min(kPieceRecords, kSamples - first)));
  }
  [[nodiscard]] std::filesystem::path path(std::uint64_t number) const {
    return std::filesystem::path(pieces_.path()) / std::to_string(number);
  }
  [[nodiscard]] Spec whole() const {
    Spec spec = loader_test::spec_of(16, 64);
    spec.shuffle.block = kPieceRecords;
    spec.shuffle.window = 1;
    return spec;
  }
  [[nodiscard]] Spec in_pieces() const {
    Spec spec = whole();
    spec.sources[0].format = Format::kJsonLines;
    spec.sources[0].texts = {{"a.jsonl", pieces_.path(), kSamples}};
    spec.sources[0].fingerprint = 77;
    return spec;
  }
  [[nodiscard]] std::unique_ptr<Feed> feed(const Spec& spec, const std::string& shared = {}) const {
    auto opened = Feed::open(spec, folder_.path(), 0, 1, shared);
    REQUIRE(opened);
    return *std::move(opened);
  }

 private:
  Folder folder_;
  test::ScratchFolder pieces_;
};

std::vector<std::int64_t> tokens_of(Feed& feed) {
  const std::size_t places = feed.places();
  std::vector<std::int64_t> all(3 * places);
  std::vector<std::int32_t> segments(feed.segment_ends(0));
  const std::span<std::int64_t> rest(all);
  REQUIRE(feed.read(
      0, {rest.first(places), rest.subspan(places, places), rest.last(places), segments}));
  all.insert(all.end(), segments.begin(), segments.end());
  all.push_back(static_cast<std::int64_t>(digest(feed.present()->plan)));
  return all;
}

TEST_CASE("pieces give the same steps as the whole data set") {
  const PieceFolder data;
  for (std::uint64_t i = 0; i < 3; ++i) data.make(i);
  const auto whole = data.feed(data.whole());
  const auto pieces = data.feed(data.in_pieces());
  CHECK(pieces->samples_of(0) == kSamples);
  CHECK(pieces->fingerprint_of(0) == 77);
  for (int step = 0; step < 30; ++step) {  // more than two epochs
    REQUIRE(whole->next_step());
    REQUIRE(pieces->next_step());
    REQUIRE(tokens_of(*whole) == tokens_of(*pieces));
    REQUIRE(whole->present()->labels == pieces->present()->labels);
  }
}

TEST_CASE("sources in pieces and whole ones may be mixed, and the index of these is shared") {
  const PieceFolder data;
  for (std::uint64_t i = 0; i < 3; ++i) data.make(i);
  const test::ScratchFolder shared;
  const auto with_both = [](Spec spec) {
    spec.sources.push_back({"other", Format::kMegatron, {"set"}, 4, {{0, 500'000}}});
    return spec;
  };
  const auto whole = data.feed(with_both(data.whole()));
  const auto first = data.feed(with_both(data.in_pieces()), shared.path());
  const auto second = data.feed(with_both(data.in_pieces()), shared.path());
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared.path())) {
    files += entry.path().extension() == ".lock" ? 0 : 1;
  }
  CHECK(files == 1);
  for (int step = 0; step < 5; ++step) {
    for (Feed* const each : {whole.get(), first.get(), second.get()}) REQUIRE(each->next_step());
    REQUIRE(tokens_of(*whole) == tokens_of(*first));
    REQUIRE(tokens_of(*whole) == tokens_of(*second));
  }
}

TEST_CASE("a step waits for its pieces, and only for these") {
  const PieceFolder data;
  const auto feed = data.feed(data.in_pieces());
  // The order begins with one whole piece: it is found by what is waited for.
  std::jthread first([&] { REQUIRE(feed->next_step()); });
  std::optional<Feed::Reading> reading;
  while (!(reading = feed->reading()) || !reading->awaited) std::this_thread::yield();
  CHECK(*reading->source == "set");
  CHECK(reading->path == "a.jsonl");
  const std::uint64_t number = *reading->awaited / kPieceRecords;
  data.make(number);
  first.join();
  int steps = 1;  // all with samples of this piece only
  const std::uint64_t within = number == 2 ? 500 : kPieceRecords;
  while (feed->present()->ended.sources[0].position + 300 < within) {
    REQUIRE(feed->next_step());
    static_cast<void>(tokens_of(*feed));
    ++steps;
  }
  CHECK(steps >= 1);
  CHECK_FALSE(feed->reading());
}

TEST_CASE("a wait can be ended, and the step is not lost") {
  const PieceFolder data;
  const auto feed = data.feed(data.in_pieces());
  base::Status ended;
  {
    const std::jthread waits([&] { ended = feed->next_step(); });
    while (!feed->reading()) std::this_thread::yield();
    feed->stop_waiting();
  }
  REQUIRE_FALSE(ended);
  CHECK(ended.error().what.find("of a.jsonl have not been tokenized yet") != std::string::npos);
  for (std::uint64_t i = 0; i < 3; ++i) data.make(i);
  REQUIRE(feed->next_step());
  CHECK(feed->present()->plan.step == 0);
}

TEST_CASE("a look at the plan does not wait") {
  const PieceFolder data;
  const auto feed = data.feed(data.in_pieces());
  auto planner = feed->planner({});
  REQUIRE(planner);
  const auto plan = planner->next();
  REQUIRE_FALSE(plan);
  CHECK(plan.error().what.find("run `robustrun data prepare`") != std::string::npos);
}

TEST_CASE("a state with a document longer than its sample is refused when it is read") {
  const PieceFolder data;
  for (std::uint64_t i = 0; i < 3; ++i) data.make(i);
  const auto feed = data.feed(data.in_pieces());
  Cursor cursor;
  cursor.sources.resize(1);
  cursor.carry = {{0, 2, 4, 9}};
  REQUIRE(feed->seek(cursor));
  REQUIRE(feed->next_step());
  std::vector<std::int64_t> all(feed->places());
  std::vector<std::int32_t> segments(feed->segment_ends(0));
  const auto read = feed->read(0, {all, all, all, segments});
  REQUIRE_FALSE(read);
  CHECK(read.error().what == "the state has a document that is not there");
  cursor.carry[0].sample = kSamples;
  CHECK_FALSE(feed->seek(cursor));
}

TEST_CASE("a piece that is cut off or altered is an error that names it, or is read as it is") {
  const PieceFolder data;
  const std::string whole = piece_of(0, kPieceRecords);
  const std::size_t head = piece_index_bytes(kPieceRecords);
  const auto parsed = [&](std::string_view bytes) {
    return parse_piece(bytes.substr(0, head), kPieceRecords, bytes.size()).has_value();
  };
  CHECK(parsed(whole));
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 64) {
    REQUIRE_FALSE(parsed(std::string_view(whole).substr(0, size)));
  }
  CHECK_FALSE(parse_piece(std::string_view(whole).substr(0, head), 1000, whole.size()));
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {  // any result, but nothing beyond the file
    std::string altered = whole;
    altered[random() % head] = static_cast<char>(random());
    const auto index =
        parse_piece(std::string_view(altered).substr(0, head), kPieceRecords, altered.size());
    if (!index) continue;
    for (std::size_t j = 0; j < kPieceRecords; ++j) {
      REQUIRE(index->offsets[j] + std::uint64_t{index->lengths[j]} * bytes_of(index->type) <=
              altered.size());
    }
  }
  for (std::uint64_t i = 0; i < 3; ++i) write(data.path(i), whole.substr(0, head + 100));
  const auto feed = data.feed(data.in_pieces());
  const auto step = feed->next_step();
  REQUIRE_FALSE(step);
  CHECK(step.error().what.starts_with("cannot use " + data.path(0).parent_path().string()));
  CHECK(step.error().what.ends_with("; remove it, and it is made again"));
}

}  // namespace pieces_test
