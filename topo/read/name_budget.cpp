#include "topo/read/name_budget.h"

#include <fmt/format.h>

#include "base/core/name_list.h"
#include "topo/network/complaint.h"

namespace robustrun::topo {

base::Result<std::vector<std::string>> NameBudget::expand(std::string_view list,
                                                          std::string_view source,
                                                          std::uint32_t line,
                                                          std::string_view key) {
  auto names = base::expand_names(list, {left_});
  if (names) {
    left_ -= names->size();
    return names;
  }
  if (names.error().code == base::Errc::kLimit) {
    return cannot_use(
        source, line,
        fmt::format("it names more than {} nodes and switches", kNodesMax + kSwitchesMax),
        base::Errc::kLimit);
  }
  return cannot_use(source, line, fmt::format("{}, {}", key, names.error().what));
}

}  // namespace robustrun::topo
