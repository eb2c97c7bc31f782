#include "checkpoint/crc32c.h"

#include <doctest/doctest.h>

#include <string>

#include "base/core/clock.h"

namespace crc32c_test {

using namespace robustrun::checkpoint;

namespace {

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  robustrun::base::Rng rng(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

}  // namespace

TEST_CASE("the vectors of RFC 3720 B.4 hold, with the instruction and with tables") {
  std::string up;
  std::string down;
  for (int i = 0; i < 32; ++i) {
    up.push_back(static_cast<char>(i));
    down.push_back(static_cast<char>(31 - i));
  }
  for (const auto crc : {&crc32c, &crc32c_by_table}) {
    CHECK(crc(std::string(32, '\0'), 0) == 0x8A9136AA);
    CHECK(crc(std::string(32, '\xFF'), 0) == 0x62A8AB43);
    CHECK(crc(up, 0) == 0x46DD794E);
    CHECK(crc(down, 0) == 0x113FDB5C);
    CHECK(crc("123456789", 0) == 0xE3069283);
    CHECK(crc("", 0) == 0);
  }
}

TEST_CASE("both ways agree at every length around the edges of streams, and continue each other") {
  const std::string bytes = random_bytes(40'000, 1);
  for (const std::size_t size : {1, 7, 8, 9, 4095, 4096, 12'287, 12'288, 12'289, 24'583, 40'000}) {
    const std::string_view all = std::string_view(bytes).substr(0, size);
    CAPTURE(size);
    CHECK(crc32c(all) == crc32c_by_table(all));
    CHECK(crc32c(all.substr(size / 3), crc32c(all.substr(0, size / 3))) == crc32c(all));
  }
}

TEST_CASE("two CRCs are joined without their bytes") {
  const std::string bytes = random_bytes(100'000, 2);
  const std::string_view all = bytes;
  for (const std::size_t cut : {0, 1, 63, 64, 4097, 65'537, 99'999, 100'000}) {
    CAPTURE(cut);
    const auto right = all.substr(cut);
    CHECK(crc32c_joined(crc32c(all.substr(0, cut)), crc32c(right), right.size()) == crc32c(all));
  }
}

TEST_CASE("any single bit changes the CRC") {
  std::string bytes = random_bytes(257, 3);
  const std::uint32_t before = crc32c(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    CHECK(crc32c(bytes) != before);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

}  // namespace crc32c_test
