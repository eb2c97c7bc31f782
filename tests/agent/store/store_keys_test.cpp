#include "agent/store/store_keys.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/store/limits.h"

namespace store_keys_test {

using namespace robustrun;
using agent::StoreKeys;

namespace {

struct Fixture {
  std::vector<StoreKeys::Client> woken;
  StoreKeys keys{[this](StoreKeys::Client client) { woken.push_back(client); }};

  std::vector<StoreKeys::Client> take_woken() { return std::exchange(woken, {}); }
};

}  // namespace

TEST_CASE("values are set, appended, compared, counted and deleted as in torch") {
  Fixture f;
  CHECK(f.keys.set("a", "1"));
  CHECK(f.keys.append("a", "23"));
  CHECK(f.keys.append("new", "x"));
  CHECK(f.keys.get("a") == "123");
  CHECK(f.keys.get("new") == "x");
  CHECK(f.keys.get("missing").empty());

  CHECK(*f.keys.compare_set("a", "other", "9") == "123");
  CHECK(*f.keys.compare_set("a", "123", "9") == "9");
  CHECK(*f.keys.compare_set("none", "expected", "9") == "expected");
  CHECK(f.keys.get("none").empty());
  CHECK(*f.keys.compare_set("none", "", "9") == "9");

  CHECK(*f.keys.add("count", 5) == 5);
  CHECK(*f.keys.add("count", -7) == -2);
  CHECK(f.keys.get("count") == "-2");
  CHECK(f.keys.add("new", 1).error().code == base::Errc::kCorrupt);
  CHECK(f.keys.set("count", "9223372036854775807"));
  CHECK(f.keys.add("count", 1).error().code == base::Errc::kCorrupt);

  CHECK(f.keys.size() == 4);
  CHECK(f.keys.remove("a"));
  CHECK(!f.keys.remove("a"));
  CHECK(f.keys.size() == 3);
}

TEST_CASE("a client is woken once, when the last of its keys has come") {
  Fixture f;
  REQUIRE(f.keys.set("here", ""));
  CHECK(*f.keys.wait(1, {"here"}));
  CHECK(!*f.keys.wait(1, {"here", "b", "c"}));
  CHECK(!*f.keys.wait(2, {"c"}));
  CHECK(f.keys.set("b", "1"));
  CHECK(f.take_woken().empty());
  CHECK(f.keys.add("c", 1));
  CHECK(f.take_woken() == std::vector<StoreKeys::Client>{1, 2});
  CHECK(f.keys.set("c", "2"));
  CHECK(f.take_woken().empty());
}

TEST_CASE("a wait that was forgotten, or followed by another, wakes no client") {
  Fixture f;
  CHECK(!*f.keys.wait(1, {"a"}));
  f.keys.forget_wait(1);
  f.keys.forget_wait(1);
  CHECK(!*f.keys.wait(2, {"a"}));
  CHECK(!*f.keys.wait(2, {"b"}));
  CHECK(f.keys.set("a", "1"));
  CHECK(f.take_woken().empty());
  CHECK(f.keys.set("b", "1"));
  CHECK(f.take_woken() == std::vector<StoreKeys::Client>{2});
}

TEST_CASE("a queue counts as a key while it has values; each value wakes one client") {
  Fixture f;
  CHECK(!*f.keys.wait(1, {"q"}));
  CHECK(!*f.keys.wait(2, {"q"}));
  CHECK(f.keys.push("q", "first"));
  CHECK(f.take_woken() == std::vector<StoreKeys::Client>{1});
  CHECK(f.keys.push("q", "second"));
  CHECK(f.take_woken() == std::vector<StoreKeys::Client>{2});
  CHECK(f.keys.queue_length("q") == 2);
  CHECK(f.keys.has_all({"q"}));
  CHECK(f.keys.pop("q") == "first");
  CHECK(f.keys.pop("q") == "second");
  CHECK(!f.keys.pop("q"));
  CHECK(f.keys.queue_length("q") == 0);
  CHECK(!f.keys.has_all({"q"}));
  CHECK(f.keys.size() == 0);
}

TEST_CASE("a barrier lets all go when the last one has come") {
  Fixture f;
  CHECK(!*f.keys.arrive(1, "b", 3));
  CHECK(!*f.keys.arrive(2, "b", 3));
  CHECK(f.take_woken().empty());
  CHECK(*f.keys.arrive(3, "b", 3));
  CHECK(f.take_woken() == std::vector<StoreKeys::Client>{1, 2});
  CHECK(f.keys.get("b") == "3");
}

TEST_CASE("values beyond the limit are refused, and change nothing") {
  struct Small {
    StoreKeys keys{[](StoreKeys::Client) {}, 10'000};
  } f;
  const std::string value(900, 'x');
  unsigned stored = 0;
  while (f.keys.set(std::to_string(stored), value)) ++stored;
  CHECK(stored == 10);  // with 65 bytes each besides the value
  CHECK(f.keys.size() == stored);
  CHECK(f.keys.set("0", value));
  CHECK(f.keys.append("0", value).error().code == base::Errc::kLimit);
  CHECK(f.keys.push("q", value).error().code == base::Errc::kLimit);
  CHECK(f.keys.queue_length("q") == 0);
  CHECK(f.keys.remove("0"));
  CHECK(f.keys.push("q", value));
  CHECK(f.keys.pop("q") == value);
  CHECK(f.keys.set("0", value));
}

}  // namespace store_keys_test
