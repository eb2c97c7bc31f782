#pragma once
// A block in memory, and the interface of the agent's parts that have blocks.

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

// A part of this node that has, or can get, the blocks of some blobs (bootstrap/store/blob.h). Used
// on the loop, which it never blocks.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // `scope`: where the source may look for the block (wire/bulk/block_exchange.h). True: `answer`
  // is called, perhaps before this returns, unless the source ends first. False: the blob is not
  // known here, at least not yet.
  virtual bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) = 0;
};

}  // namespace robustrun::agent
