#pragma once
// A block on its way between parts of the agent, and the interface of parts that have blocks.

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
  base::Hash128 sum;  // of `bytes`
};
using SharedBlock = std::shared_ptr<const Block>;
// Called on the loop; null: the block is not available.
using BlockAnswered = std::function<void(SharedBlock)>;

[[nodiscard]] inline SharedBlock make_block(std::string bytes) {
  const base::Hash128 sum = base::hash128(bytes);
  return std::make_shared<const Block>(Block{std::move(bytes), sum});
}

// A part of this node that has, or can get, the blocks of some blobs. Used on the loop, which it
// never blocks.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // False: the blob is unknown here, perhaps not yet, and `answer` is not called.
  virtual bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) = 0;
};

}  // namespace robustrun::agent
