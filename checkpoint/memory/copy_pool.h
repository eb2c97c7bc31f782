#pragma once
// Copies many pieces of memory side by side and gives the CRC of each. Owns its threads; the
// caller's is one more of them. One call at a time.

#include <cstdint>
#include <memory>
#include <span>

namespace robustrun::checkpoint {

struct CopyUnit {
  const char* from = nullptr;
  char* to = nullptr;      // does not overlap `from`
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;   // of what was copied, when it was
};

class CopyPool {
 public:
  // `threads`: the caller's among them.
  explicit CopyPool(unsigned threads);
  CopyPool(CopyPool&&) noexcept;
  CopyPool& operator=(CopyPool&&) noexcept;
  ~CopyPool();

  void copy(std::span<CopyUnit> units);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace robustrun::checkpoint
