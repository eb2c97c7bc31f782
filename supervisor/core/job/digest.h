#pragma once
// The digest of a job: a hash of the memory of all its parts. Each field has a number that is
// unique in the job. The fields are hashed in one fixed order, kOrder, whatever part has them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/core/result.h"
#include "supervisor/core/types/state_hash.h"

namespace robustrun::supervisor {

class Digest {
 public:
  template <class T>
  void operator()(int number, const char* name, T& value) {
    const auto index = static_cast<std::size_t>(number);
    RR_ASSERT(index < fields_by_number_.size());
    ++fields_;
    fields_by_number_[index](number, name, value);
  }
  [[nodiscard]] std::uint64_t value() const {
    RR_ASSERT(fields_ == std::size(kOrder));
    StateHash whole;
    for (const std::size_t number : kOrder) whole.append(fields_by_number_[number]);
    return whole.value();
  }

 private:
  static constexpr std::size_t kOrder[] = {
      1,  2,  3,  4,  5,  6,  85, 38, 39, 7,  8,  27, 28, 29, 30, 31, 32, 35, 36, 9,  10,
      11, 12, 13, 14, 15, 16, 17, 37, 18, 19, 20, 21, 22, 23, 24, 25, 26, 33, 34, 50, 51,
      52, 53, 54, 60, 61, 62, 63, 70, 71, 72, 73, 74, 75, 76, 80, 81, 82, 83, 84};
  std::array<StateHash, 86> fields_by_number_;
  std::size_t fields_ = 0;
};

}  // namespace robustrun::supervisor
