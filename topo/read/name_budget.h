#pragma once
// Expands lists of nodes and switches ("n[1-16],m7", base/core/name_list.h) and limits the total of
// their names, because a short list with brackets may stand for very many. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/limits.h"

namespace robustrun::topo {

class NameBudget {
 public:
  // `source`, `line` and `key` say where the list is, for messages.
  base::Result<std::vector<std::string>> expand(std::string_view list, std::string_view source,
                                                std::uint32_t line, std::string_view key);

 private:
  std::size_t left_ = kNodesMax + kSwitchesMax;
};

}  // namespace robustrun::topo
