#pragma once
// A placement whose places can exchange their nodes, with its cost always up to date. Internal to
// topo/.

#include <cstdint>
#include <memory>
#include <vector>

#include "topo/place.h"
#include "topo/solve/ledger.h"

namespace robustrun::topo {

class Exchange {
 public:
  // `problem` and `shape` must outlive this object; `nodes`: by place.
  Exchange(const Problem& problem, const Shape& shape, const std::vector<NodeIndex>& nodes);

  // O(levels * groups of the two places).
  void swap(PlaceIndex a, PlaceIndex b);

  [[nodiscard]] std::int64_t worst() const;  // as Cost::worst

 private:
  const Problem& problem_;
  std::vector<std::unique_ptr<LevelProblem>> views_;  // referred to by the ledgers
  std::vector<Ledger> ledgers_;
  std::vector<std::size_t> levels_;  // by ledger
};

}  // namespace robustrun::topo
