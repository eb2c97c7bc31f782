#pragma once
// Writes a struct with a field list (base/core/fields.h) as one JSON object. Pure.
//
// Members have the names of the list. The name of a duration gets "_s", and its value is in
// seconds. An enum is written as its to_string(). An empty optional, and a number that JSON cannot
// express, are written as null. Bytes that are not UTF-8 are escaped (base::json_string).

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/fields.h"
#include "base/core/text.h"

namespace robustrun::supervisor {

class JsonWriter {
 public:
  template <class T>
  static std::string object(const T& value) {
    std::string text;
    JsonWriter(text).append_object(value);
    return text;
  }
  // The same without members that are 0, false, empty, null or the first value of an enum: a
  // missing member means this value to a reader.
  template <class T>
  static std::string sparse_object(const T& value) {
    std::string text;
    JsonWriter(text, true).append_object(value);
    return text;
  }

  template <class T>
  void operator()(int, const char* name, const T& value) {
    if (is_sparse_ && is_nothing(value)) return;
    if (text_.back() != '{') text_ += ',';
    constexpr bool kIsTime =
        std::is_same_v<T, base::Nanos> || std::is_same_v<T, std::optional<base::Nanos>>;
    text_ += '"';
    text_ += name;
    text_ += kIsTime ? "_s\":" : "\":";
    append(value);
  }

 private:
  explicit JsonWriter(std::string& text, bool is_sparse = false)
      : text_(text), is_sparse_(is_sparse) {}

  template <class T>
  static bool is_nothing(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return value == T{};
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<std::uint64_t>(value) == 0;
    } else if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      return value == base::Nanos{};
    } else {
      return false;
    }
  }

  template <class T>
  void append_object(const T& value) {
    text_ += '{';
    const_cast<T&>(value).fields(*this);  // the field list is one template for all directions
    text_ += '}';
  }

  template <class T>
  void append(const std::optional<T>& value) {
    if (value) {
      append(*value);
    } else {
      text_ += "null";
    }
  }

  template <class T>
  void append(const std::vector<T>& list) {
    text_ += '[';
    bool is_first = true;
    for (const T& value : list) {
      if (!std::exchange(is_first, false)) text_ += ',';
      append(value);
    }
    text_ += ']';
  }

  template <class T>
  void append(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      text_ += base::json_string(value);
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      append_number(std::chrono::duration<double>(value).count());
    } else if constexpr (std::is_same_v<T, double>) {
      if (std::isfinite(value)) {
        append_number(value);
      } else {
        text_ += "null";  // JSON has no NaN
      }
    } else if constexpr (base::HasFields<T>) {
      append_object(value);
    } else if constexpr (std::is_enum_v<T>) {
      text_ += base::json_string(to_string(value));
    } else {
      static_assert(std::integral<T>);
      append_number(value);
    }
  }

  template <class T>
  void append_number(T value) {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }

  std::string& text_;
  bool is_sparse_;
};

}  // namespace robustrun::supervisor
