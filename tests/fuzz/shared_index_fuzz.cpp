// Any bytes as the index that ranks share: never a crash, and all that is found lies within them.
// The first byte says how many sources and data sets the specification has; the rest is the file,
// whose head is made right in half of the inputs.
// Seeds: tests/fuzz/seeds/shared_index

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "loader/index/shared_index.h"

using namespace robustrun;

namespace {

constexpr std::uint64_t kKey = 7;
constexpr std::size_t kHeadNumbers = 3;  // magic, key, size

template <class T>
bool lies_within(std::span<const T> part, std::span<const char> whole) {
  const auto bytes = std::as_bytes(part);
  const auto all = std::as_bytes(whole);
  return part.empty() ||
         (bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint8_t shape = data[0];
  loader::TokenSets sets(1U + shape % 3U);
  for (auto& source : sets) source.resize((shape >> 2U) % 4U, "set");
  std::vector<std::uint64_t> numbers((size - 1 + 7) / 8);
  std::memcpy(numbers.data(), data + 1, size - 1);
  if ((shape & 0x80U) != 0 && numbers.size() >= kHeadNumbers) {
    std::memcpy(numbers.data(), "RRDATAI2", 8);
    numbers[1] = kKey;
    numbers[2] = size - 1;
  }
  const std::span<const char> bytes(reinterpret_cast<const char*>(numbers.data()), size - 1);
  const auto sources = loader::shared_sources(bytes, kKey, sets);
  if (!sources) return 0;
  RR_ASSERT(sources->size() == sets.size());
  for (const loader::SourceIndex& source : *sources) {
    RR_ASSERT(lies_within(source.lengths, bytes));
    std::uint64_t samples = 0;
    for (const loader::IndexedFile& file : source.files) {
      RR_ASSERT(file.first == samples && lies_within(file.offsets, bytes));
      RR_ASSERT(loader::bytes_of(file.type) > 0);
      samples += file.offsets.size();
    }
    RR_ASSERT(samples == source.lengths.size());
    static_cast<void>(loader::fingerprint(source));
  }
  return 0;
}
