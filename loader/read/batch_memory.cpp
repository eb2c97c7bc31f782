#include "loader/read/batch_memory.h"

#include "base/core/result.h"

namespace robustrun::loader {

BatchMemory::BatchMemory(std::size_t places)
    : places_(places), block_(std::make_unique_for_overwrite<std::byte[]>(bytes(places))) {}

std::size_t BatchMemory::bytes(std::size_t places) {
  return 3 * places * sizeof(std::int64_t) + (places + 1) * sizeof(std::int32_t);
}

BatchOut BatchMemory::out(std::size_t segments) const {
  RR_ASSERT(segments <= places_ + 1);
  auto* const numbers = reinterpret_cast<std::int64_t*>(block());
  auto* const ends = reinterpret_cast<std::int32_t*>(numbers + 3 * places_);
  return {{numbers, places_},
          {numbers + places_, places_},
          {numbers + 2 * places_, places_},
          {ends, segments}};
}

BatchMemories::~BatchMemories() { const std::unique_ptr<BatchMemory> last(spare_.load()); }

std::shared_ptr<BatchMemory> BatchMemories::take() {
  std::unique_ptr<BatchMemory> taken(spare_.exchange(nullptr));
  if (!taken) taken = std::make_unique<BatchMemory>(places_);
  const auto give_back = [self = shared_from_this()](BatchMemory* freed) {
    const std::unique_ptr<BatchMemory> beyond(self->spare_.exchange(freed));
  };
  return {taken.release(), give_back};
}

}  // namespace robustrun::loader
