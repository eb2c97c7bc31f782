#include <doctest/doctest.h>

#include <string>

#include "loader/index/json_lines.h"
#include "loader/index/megatron.h"

namespace index_test {

using namespace robustrun;
using namespace robustrun::loader;

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string megatron_index(const std::vector<std::int32_t>& lengths, std::uint8_t type = 8) {
  std::string bytes("MMIDIDX\0\0", 9);
  put<std::uint64_t>(bytes, 1);
  put<std::uint8_t>(bytes, type);
  put<std::uint64_t>(bytes, lengths.size());
  put<std::uint64_t>(bytes, lengths.size() + 1);
  for (const std::int32_t length : lengths) put(bytes, length);
  std::int64_t offset = 0;
  for (const std::int32_t length : lengths) {
    put(bytes, offset);
    offset += 2 * std::int64_t{length};
  }
  for (std::size_t i = 0; i <= lengths.size(); ++i)
    put<std::int64_t>(bytes, static_cast<std::int64_t>(i));
  return bytes;
}

std::string error_of(const std::string& bytes) {
  const auto index = parse_megatron_index(bytes);
  REQUIRE_FALSE(index);
  return index.error().what;
}

TEST_CASE("an index of Megatron-LM gives lengths and the size of its tokens") {
  const auto index = parse_megatron_index(megatron_index({5, 0, 700}));
  REQUIRE(index);
  CHECK(index->lengths == std::vector<std::uint32_t>{5, 0, 700});
  CHECK(index->type == TokenType::kUint16);
  CHECK(index->offsets == std::vector<std::uint64_t>{0, 10, 10});
  CHECK(index->bin_bytes == 1410);
  CHECK(parse_megatron_index(megatron_index({5, 0, 700}) + std::string(3, '\1')));  // with modes
}

TEST_CASE("a damaged index says what is wrong with it") {
  const std::string good = megatron_index({5, 6});
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(parse_megatron_index(good.substr(0, size)));
  }
  CHECK(error_of("text") == "it does not begin as an index of Megatron-LM does");
  std::string bad = good;
  bad[9] = 2;
  CHECK(error_of(bad) == "its version is 2, only 1 is known");
  CHECK(error_of(megatron_index({1}, 99)) == "its type of tokens 99 is no type of integers");
  CHECK(error_of(megatron_index({1, -4})) == "sequence 1 has -4 tokens");
  bad = good;
  bad[25] = 0x7F;  // the number of sequences
  CHECK(error_of(bad).find("do not fit") != std::string::npos);
}

std::vector<std::uint32_t> sizes_of(const std::string& text, std::size_t part) {
  JsonLineScanner scanner;
  for (std::size_t at = 0; at < text.size(); at += part) {
    REQUIRE(scanner.add(std::string_view(text).substr(at, part)));
  }
  scanner.finish();
  return scanner.sizes();
}

TEST_CASE("lines of JSON are found whatever the parts in which a file comes") {
  const std::string text = "{\"a\": 1}\n\n  {}\n \r\n{\"b\": 2}";
  for (std::size_t part = 1; part <= text.size(); ++part) {
    CHECK(sizes_of(text, part) == std::vector<std::uint32_t>{8, 4, 8});
  }
  CHECK(sizes_of("", 1).empty());
}

TEST_CASE("a line that is no object is named by its number") {
  JsonLineScanner scanner;
  const auto added = scanner.add("{}\n\n[1, 2]\n");
  REQUIRE_FALSE(added);
  CHECK(added.error().what == "line 3 does not begin with {");
}

}  // namespace index_test
