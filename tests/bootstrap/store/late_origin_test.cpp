#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/blocks/late_origin.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/source_name.h"
#include "tests/support/scratch.h"

namespace late_origin_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

const std::string kKey(32, 'a');
const std::string kOther(32, 'b');
constexpr std::uint64_t kLength = 2 * kBlockBytes;

class Source final : public Origin {
 public:
  explicit Source(std::string key) : blob_{std::move(key), kLength, "v"} {}
  [[nodiscard]] const Blob& blob() const override { return blob_; }
  base::Result<base::Nanos> read(std::uint64_t /*offset*/, std::span<char> bytes) override {
    std::ranges::fill(bytes, 'x');
    return base::Nanos(1);
  }

 private:
  Blob blob_;
};

// Stores blocks of `key` as those of this source.
void keep_as(const std::string& cache, const std::string& key, std::string_view source,
             std::int64_t seen_ns) {
  const auto store = BlockStore::open({cache, key, kLength, "somewhere", 0});
  REQUIRE(store);
  REQUIRE(save_source_name(cache, key, source, seen_ns));
}

}  // namespace

TEST_CASE("an unreachable source is tried until it answers, and must be the known blob") {
  int asked = 0;
  std::string key;
  const auto origin =
      late_origin({kKey, kLength, {}}, "there", [&]() -> base::Result<std::unique_ptr<Origin>> {
        ++asked;
        if (key.empty()) return base::fail(base::Errc::kUnavailable, "unreachable");
        return std::make_unique<Source>(key);
      });
  CHECK(origin->blob().key == kKey);
  CHECK(origin->blob().length == kLength);
  CHECK(asked == 0);
  std::array<char, 10> bytes{};
  auto got = origin->read(0, bytes);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == base::Errc::kUnavailable);
  CHECK(is_worth_retrying(got.error()));
  key = kOther;
  got = origin->read(0, bytes);
  REQUIRE_FALSE(got);
  CHECK_FALSE(is_worth_retrying(got.error()));
  CHECK(got.error().what.find("'there'") != std::string::npos);
  CHECK(got.error().what.find(kOther) != std::string::npos);
  CHECK(got.error().what.find(kKey) != std::string::npos);
  key = kKey;
  CHECK(origin->read(0, bytes));
  CHECK(bytes[9] == 'x');
  key.clear();
  CHECK(origin->read(0, bytes));
  CHECK(asked == 3);
}

TEST_CASE("another source of checked content only needs the same length") {
  for (const std::uint64_t length : {kLength, kLength + 1}) {
    const auto origin = late_origin(
        {kKey, length, {}}, "there", [] { return std::make_unique<Source>(kOther); }, true);
    std::array<char, 10> bytes{};
    CHECK(origin->read(0, bytes).has_value() == (length == kLength));
  }
}

TEST_CASE("of many concurrent reads of a silent source, one waits for it") {
  std::atomic<int> asked{0};
  const auto origin =
      late_origin({kKey, kLength, {}}, "there", [&]() -> base::Result<std::unique_ptr<Origin>> {
        if (++asked == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        return base::fail(base::Errc::kTimeout, "no answer");
      });
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 8; ++i) {
      readers.emplace_back([&] {
        std::array<char, 10> bytes{};
        failed += origin->read(0, bytes) ? 0 : 1;
      });
    }
  }
  CHECK(failed == 8);
  CHECK(asked < 8);
}

TEST_CASE("the last blob of a source is found by its name") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string url = "https://user:secret@host/image?token=1";
  CHECK_FALSE(find_named_blob(cache, url));
  keep_as(cache, kKey, url, 100);
  const auto found = find_named_blob(cache, url);
  REQUIRE(found);
  CHECK(found->key == kKey);
  CHECK(found->length == kLength);
  CHECK_FALSE(find_named_blob(cache, "https://user:secret@host/image?token=2"));
  keep_as(cache, kOther, url, 99);
  CHECK(find_named_blob(cache, url)->key == kKey);
  keep_as(cache, kOther, url, 101);
  CHECK(find_named_blob(cache, url)->key == kOther);
  CHECK(collect_blobs(cache, 0, 0, 0).value().empty());
  CHECK(find_named_blob(cache, url));  // blobs without bytes were not evicted
  keep_as(cache, kOther, "/another/path", 102);
  CHECK(find_named_blob(cache, url)->key == kKey);
}

TEST_CASE("a name is read back, holds no secret, and is refused if torn") {
  const std::string text = source_name_text("https://user:secret@host/image", 1'700'000'000'000);
  CHECK(text.find("secret") == std::string::npos);
  const auto name = parse_source_name(text);
  REQUIRE(name);
  CHECK(name->seen_ns == 1'700'000'000'000);
  CHECK(name->source_hash.size() == 64);
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK_FALSE(parse_source_name(text.substr(0, length)));
  }
  CHECK_FALSE(parse_source_name(text + "\n"));
}

}  // namespace late_origin_test
