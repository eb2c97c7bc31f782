#pragma once
// Copies many pieces of memory in parallel and computes the CRC of each. Owns its threads; the
// calling thread copies as well. One call at a time.

#include <cstdint>
#include <memory>
#include <span>

namespace robustrun::checkpoint {

struct CopyUnit {
  const char* from = nullptr;
  char* to = nullptr;      // does not overlap `from`
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;   // set by copy(): CRC of the copied bytes
};

class CopyPool {
 public:
  // `threads`: number of threads, including the caller's.
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
