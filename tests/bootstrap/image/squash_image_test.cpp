#include <doctest/doctest.h>

#include <cstring>

#include "bootstrap/image/squash_image.h"
#include "tests/support/scratch.h"

namespace squash_image_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

std::string head_of(std::uint64_t bytes, std::uint16_t version = 4, std::uint16_t compressor = 6) {
  std::string head(kSquashHeadBytes, '\0');
  std::memcpy(head.data(), "hsqs", 4);
  std::memcpy(head.data() + 20, &compressor, sizeof compressor);
  std::memcpy(head.data() + 28, &version, sizeof version);
  std::memcpy(head.data() + 40, &bytes, sizeof bytes);
  return head;
}

}  // namespace

TEST_CASE("an image's length and compressor are read") {
  const auto found = read_squash_head(head_of(5000), 8192);
  REQUIRE(found);
  CHECK(found->bytes == 5000);
  CHECK(found->compressor == "zstd");
  CHECK(read_squash_head(head_of(5000, 4, 99), 8192)->compressor == "?");
}

TEST_CASE("a file that is not an image, or an incomplete one, is refused with the cause") {
  CHECK(read_squash_head("", 0).error().what == "it is not a squashfs image");
  CHECK(read_squash_head(std::string(200, 'x'), 200).error().code == base::Errc::kCorrupt);
  CHECK(read_squash_head(head_of(50).substr(0, 95), 95).error().what ==
        "it is not a squashfs image");
  CHECK(read_squash_head(head_of(50, 3), 96).error().what ==
        "it has squashfs version 3, but version 4 is needed");
  CHECK(read_squash_head(head_of(5000), 4999).error().what ==
        "it is cut short: 4999 of 5000 bytes are there");
}

TEST_CASE("a path that cannot be an image is refused by name") {
  const test::Scratch scratch;
  const auto gone = look_at_squash_image(scratch.path("gone.sqsh"));
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == base::Errc::kNotFound);
  CHECK(gone.error().what.starts_with("cannot use the image " + scratch.path("gone.sqsh")));
  const auto folder = look_at_squash_image(scratch.path(""));
  REQUIRE_FALSE(folder);
  CHECK(folder.error().what.find("not a regular file") != std::string::npos);
}

}  // namespace squash_image_test
