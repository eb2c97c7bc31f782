#pragma once
// A block of a blob on its way from one part of the agent to another.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/core/hash.h"
#include "wire/bulk/block_exchange.h"

namespace robustrun::agent {

struct Block {
  std::string bytes;
  base::Hash128 sum;  // of these
};
using SharedBlock = std::shared_ptr<const Block>;
// On the loop; null: it is not to be had.
using BlockAnswered = std::function<void(SharedBlock)>;

[[nodiscard]] inline SharedBlock make_block(std::string bytes) {
  const base::Hash128 sum = base::hash128(bytes);
  return std::make_shared<const Block>(Block{std::move(bytes), sum});
}

// Who has, or gets, the blocks of some blobs on this node. On the loop; never blocks it.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // False: it knows nothing of that blob, perhaps not yet, and will not answer.
  virtual bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) = 0;
};

}  // namespace robustrun::agent
