#include "checkpoint/format/crc32c.h"

#include <doctest/doctest.h>

#include <string>

#include "base/core/clock.h"
#include "checkpoint/format/crc32c_fold.h"
#include "checkpoint/format/crc32c_instruction.h"

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

TEST_CASE(
    "all methods agree at every length around stream boundaries, and continue each other's CRC") {
  const std::string bytes = random_bytes(40'000, 1);
  for (const std::size_t size :
       {1, 7, 8, 9, 1023, 1024, 1025, 4095, 4096, 12'287, 12'288, 12'289, 24'583, 40'000}) {
    const std::string_view all = std::string_view(bytes).substr(0, size);
    CAPTURE(size);
    CHECK(crc32c(all) == crc32c_by_table(all));
    if (crc32c_in_hardware()) CHECK(crc32c_by_instruction(all, 0) == crc32c_by_table(all));
    CHECK(crc32c(all.substr(size / 3), crc32c(all.substr(0, size / 3))) == crc32c(all));
  }
}

TEST_CASE("each copying method copies as many bytes as it returns, and continues a CRC") {
  const std::string from = random_bytes(40'000, 4);
  const std::string_view all = std::string_view(from).substr(7);
  const std::uint32_t before = crc32c_by_table(from.substr(0, 7));
  std::size_t ways = 0;
  for (const auto copy : {&crc32c_fold_copy, &crc32c_copy_by_instruction}) {
    const bool has = copy == &crc32c_fold_copy ? crc32c_can_fold() : crc32c_in_hardware();
    if (!has) continue;
    ++ways;
    for (const std::size_t shift : {0, 1, 16, 63, 64}) {
      CAPTURE(shift);
      std::string to(all.size() + 128, '\0');
      const std::size_t base = -reinterpret_cast<std::uintptr_t>(to.data()) % 64;
      char* const start = to.data() + base + shift;
      std::uint32_t crc = before;
      const std::size_t done = copy(all, start, crc);
      CHECK(std::string_view(start, done) == all.substr(0, done));
      CHECK(to.find_first_not_of('\0', base + shift + done) == std::string::npos);
      CHECK(crc == crc32c_by_table(from.substr(0, 7 + done)));
      CHECK((done > 0 || shift % 16 != 0));
    }
  }
  MESSAGE("ways on this processor: ", ways);
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
