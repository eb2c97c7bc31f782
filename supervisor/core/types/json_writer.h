#pragma once
// A struct with a field list (base/core/fields.h) as one JSON object. Pure.
//
// Members have the names of the list; a duration's name gets "_s" and its value is in seconds. An
// enum is written as its to_string(), an empty optional as null, a number that JSON cannot express
// as null; bytes that are not UTF-8 are escaped (base::json_string).

#include <fmt/core.h>

#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/core/clock.h"
#include "base/core/fields.h"
#include "base/core/text.h"

namespace robustrun::supervisor {

class JsonWriter {
 public:
  template <class T>
  static std::string object(const T& value) {
    JsonWriter writer;
    const_cast<T&>(value).fields(writer);  // the field list is one template for all directions
    return "{" + writer.members_ + "}";
  }

  template <class T>
  void operator()(int, const char* name, const T& value) {
    if (!members_.empty()) members_ += ',';
    constexpr bool kIsTime =
        std::is_same_v<T, base::Nanos> || std::is_same_v<T, std::optional<base::Nanos>>;
    const char* unit = kIsTime ? "_s" : "";
    members_ += fmt::format("\"{}{}\":{}", name, unit, text(value));
  }

 private:
  template <class T>
  static std::string text(const std::optional<T>& value) {
    return value ? text(*value) : "null";
  }

  template <class T>
  static std::string text(const std::vector<T>& list) {
    std::string out;
    for (const T& value : list) out += (out.empty() ? "" : ",") + text(value);
    return "[" + out + "]";
  }

  template <class T>
  static std::string text(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return base::json_string(value);
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      return fmt::format("{}", std::chrono::duration<double>(value).count());
    } else if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? fmt::format("{}", value) : "null";  // JSON has no NaN
    } else if constexpr (base::HasFields<T>) {
      return object(value);
    } else if constexpr (std::is_enum_v<T>) {
      return base::json_string(to_string(value));
    } else {
      static_assert(std::integral<T>);
      return fmt::format("{}", value);
    }
  }

  std::string members_;
};

}  // namespace robustrun::supervisor
