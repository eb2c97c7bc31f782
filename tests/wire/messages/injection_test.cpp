#include "wire/messages/injection.h"

#include <doctest/doctest.h>

#include <set>

namespace injection_test {

using namespace robustrun::wire;
using Target = FaultRow::Target;

TEST_CASE("every kind of fault is found by its number and by its name") {
  std::set<std::string_view> names;
  for (const FaultRow& row : fault_rows()) {
    CAPTURE(row.name);
    CHECK(find_fault(row.kind) == &row);
    CHECK(find_fault(row.name) == &row);
    CHECK(names.insert(row.name).second);
    CHECK_FALSE(row.help.empty());
    CHECK((row.lasts || row.duration == robustrun::base::Nanos{}));
    CHECK((!row.in_python || row.target == Target::kRank));
  }
  CHECK(names.size() == 13);
}

TEST_CASE("an unknown kind of fault is not found") {
  CHECK(find_fault(static_cast<FaultKind>(fault_rows().size())) == nullptr);
  CHECK(find_fault(static_cast<FaultKind>(255)) == nullptr);
  CHECK(find_fault("") == nullptr);
  CHECK(find_fault("Kill") == nullptr);
  CHECK(find_fault("kil") == nullptr);
}

}  // namespace injection_test
