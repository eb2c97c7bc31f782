#include "cli/text/cache_text.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "bootstrap/cache_contents.h"

namespace robustrun::cli::cache_text_test {

using bootstrap::CacheEntry;
using bootstrap::CacheKind;

namespace {

CacheEntry blob() {
  CacheEntry entry;
  entry.kind = CacheKind::kBlob;
  entry.name = std::string(32, 'a');
  entry.what = "http://images/torch.sqsh";
  entry.bytes = 13 << 20;
  entry.used_s = 1000;
  entry.here = 12 << 20;
  entry.length = 48 << 20;
  return entry;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a blob's line shows its source, how much of it is present, and its damage") {
  CacheEntry entry = blob();
  const std::string some = cache_text(std::vector{entry}, 4600);
  CHECK(contains(some, "blob      " + entry.name +
                           "     13 MiB  used 60 min ago  "
                           "http://images/torch.sqsh  12 MiB of 48 MiB\n"));
  CHECK(contains(some, "1 in all, 13 MiB\n"));
  entry.here = entry.length;
  entry.in_use = true;
  CHECK(contains(cache_text(std::vector{entry}, 4600), "torch.sqsh  complete  in use\n"));
  entry.damage = "1 of 48 blocks were wrong, and are forgotten";
  CHECK(contains(cache_text(std::vector{entry}, 4600),
                 "complete  damaged: 1 of 48 blocks were wrong, and are forgotten\n"));
}

TEST_CASE("entries other than blobs have no total length") {
  CacheEntry entry;
  entry.kind = CacheKind::kCode;
  entry.name = "key";
  entry.bytes = 2048;
  CHECK(contains(cache_text(std::vector{entry}, 10), "code      key"));
  CHECK_FALSE(contains(cache_text(std::vector{entry}, 10), " of "));
}

TEST_CASE("JSON has the present share of a blob") {
  const std::string text = cache_json("/cache", "entries", std::vector{blob()});
  CHECK(contains(text, R"("kind":"blob")"));
  CHECK(contains(text, R"("here":12582912,"length":50331648,"damage":"")"));
  CHECK(text.starts_with(R"({"cache":"/cache","entries":[{)"));
}

}  // namespace robustrun::cli::cache_text_test
