#pragma once
// Lists of nodes and switches in a description ("n[1-16],m7", base/core/name_list.h), of which
// there may be so many in all: brackets make much out of little. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/limits.h"

namespace robustrun::topo {

class NameBudget {
 public:
  // `key`: where in the line the list stands, for messages.
  base::Result<std::vector<std::string>> expand(std::string_view list, std::string_view source,
                                                std::uint32_t line, std::string_view key);

 private:
  std::size_t left_ = kNodesMax + kSwitchesMax;
};

}  // namespace robustrun::topo
