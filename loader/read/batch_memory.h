#pragma once
// Memory of batches. The memory of a batch is kept for a later one, because fresh memory comes from
// the kernel page by page, which takes as long as reading the tokens into it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "loader/read/feed.h"

namespace robustrun::loader {

// The memory of one batch, in one block: tokens, labels and positions with `places` elements each,
// then room for places + 1 segments (BatchOut).
class BatchMemory {
 public:
  explicit BatchMemory(std::size_t places);

  [[nodiscard]] static std::size_t bytes(std::size_t places);
  [[nodiscard]] std::byte* block() const { return block_.get(); }
  [[nodiscard]] BatchOut out(std::size_t segments) const;

 private:
  std::size_t places_;
  std::unique_ptr<std::byte[]> block_;
};

// Any thread may use this. There is no lock, because a child process may be forked at any time.
class BatchMemories : public std::enable_shared_from_this<BatchMemories> {
 public:
  explicit BatchMemories(std::size_t places) : places_(places) {}
  ~BatchMemories();
  BatchMemories(const BatchMemories&) = delete;
  BatchMemories& operator=(const BatchMemories&) = delete;

  // When the last shared_ptr to the memory is destroyed, the memory comes back to this object,
  // which lives at least until then. The memory that came back last is kept as the spare; an
  // earlier spare is freed.
  [[nodiscard]] std::shared_ptr<BatchMemory> take();

 private:
  std::size_t places_;
  std::atomic<BatchMemory*> spare_ = nullptr;  // owned
};

}  // namespace robustrun::loader
