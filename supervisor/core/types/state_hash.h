#pragma once
// Hash of a struct by its field list (base/core/fields.h): all members, in order. Two values have
// the same hash exactly when their fields are equal (except for collisions).

#include <bit>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/core/clock.h"
#include "base/core/fields.h"
#include "base/core/hash.h"

namespace robustrun::supervisor {

class StateHash {
 public:
  template <class T>
  void operator()(int number, const char*, T& value) {
    word(static_cast<std::uint64_t>(number));
    add(value);
  }

  template <class T>
  void add(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      word(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      word(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      word(static_cast<std::uint64_t>(value.count()));
    } else if constexpr (requires { typename T::Representation; }) {
      word(value.value);
    } else if constexpr (base::HasFields<T>) {
      value.fields(*this);
    } else if constexpr (requires { value.has_value(); }) {
      word(value.has_value() ? 1 : 0);
      if (value) add(*value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      word(value.size());
      bytes_ += value;
    } else {
      word(value.size());
      for (auto& item : value) add(item);
    }
  }

  // Adds everything that was added to `other`.
  void append(const StateHash& other) { bytes_ += other.bytes_; }
  [[nodiscard]] std::uint64_t value() const { return base::hash64(bytes_); }

 private:
  void word(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(number >> shift));
    }
  }

  std::string bytes_;
};

}  // namespace robustrun::supervisor
