#include "agent/store/store_request.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "agent/store/limits.h"

namespace store_request_test {

using namespace robustrun;
using agent::parse_store_request;
using agent::StoreQuery;

namespace {

template <class T>
std::string number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string text(std::string_view bytes) {
  return number(std::uint64_t{bytes.size()}).append(bytes);
}

std::string query(StoreQuery which) { return {static_cast<char>(which)}; }

}  // namespace

TEST_CASE("a request is complete with its last byte, and not before") {
  const std::string all = query(StoreQuery::kCompareSet) + text("key") + text("") + text("new");
  for (std::size_t size = 0; size < all.size(); ++size) {
    const auto parsed = parse_store_request(std::string_view(all).substr(0, size));
    REQUIRE(parsed);
    CHECK(!parsed->request);
    CHECK(parsed->bytes > size);
    CHECK(parsed->bytes <= all.size());
  }
  const std::string more = all + "next";
  const auto parsed = parse_store_request(more);
  REQUIRE(parsed);
  REQUIRE(parsed->request);
  CHECK(parsed->bytes == all.size());
  CHECK(parsed->request->keys == std::vector<std::string_view>{"key"});
  CHECK(parsed->request->values == std::vector<std::string_view>{"", "new"});
}

TEST_CASE("numbers and lists") {
  const std::string three = query(StoreQuery::kAdd) + text("k") + number(-3LL);
  const auto add = parse_store_request(three);
  REQUIRE(add->request);
  CHECK(add->request->number == -3);
  const std::string both = number(std::uint64_t{2}) + text("a") + text("1") + text("b") + text("2");
  const std::string pairs = query(StoreQuery::kMultiSet) + both;
  const auto set = parse_store_request(pairs);
  REQUIRE(set->request);
  CHECK(set->request->keys == std::vector<std::string_view>{"a", "b"});
  CHECK(set->request->values == std::vector<std::string_view>{"1", "2"});
}

TEST_CASE("what is no request of torch is refused at once") {
  const auto code = [](const std::string& bytes) {
    const auto parsed = parse_store_request(bytes);
    REQUIRE(!parsed);
    return parsed.error().code;
  };
  CHECK(code("GET / HTTP/1.1\r\n") == base::Errc::kProtocol);
  CHECK(code(query(StoreQuery::kValidate) + number(0xdeadbeefU)) == base::Errc::kProtocol);
  CHECK(code({static_cast<char>(19)}) == base::Errc::kProtocol);
  CHECK(code(query(StoreQuery::kGet) + number(std::uint64_t{agent::kStoreKeyBytesMax + 1})) ==
        base::Errc::kLimit);
  CHECK(code(query(StoreQuery::kSet) + text("k") + number(std::uint64_t{1} << 30)) ==
        base::Errc::kLimit);
  CHECK(code(query(StoreQuery::kWait) + number(~std::uint64_t{0})) == base::Errc::kLimit);
}

}  // namespace store_request_test
