#pragma once
// A struct with a field list (base/core/fields.h) as one JSON object. Pure.
//
// Members have the names of the list; a duration's name gets "_s" and its value is in seconds. An
// enum is written as its to_string(), an empty optional as null, a number that JSON cannot express
// as null; bytes that are not UTF-8 are escaped (base::json_string).

#include <fmt/format.h>

#include <cmath>
#include <concepts>
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
    append_object(text, value);
    return text;
  }

  template <class T>
  void operator()(int, const char* name, const T& value) {
    if (text_.back() != '{') text_ += ',';
    constexpr bool kIsTime =
        std::is_same_v<T, base::Nanos> || std::is_same_v<T, std::optional<base::Nanos>>;
    text_ += '"';
    text_ += name;
    text_ += kIsTime ? "_s\":" : "\":";
    append(text_, value);
  }

 private:
  explicit JsonWriter(std::string& text) : text_(text) {}

  template <class T>
  static void append_object(std::string& text, const T& value) {
    text += '{';
    JsonWriter writer(text);
    const_cast<T&>(value).fields(writer);  // the field list is one template for all directions
    text += '}';
  }

  template <class T>
  static void append(std::string& text, const std::optional<T>& value) {
    if (value) {
      append(text, *value);
    } else {
      text += "null";
    }
  }

  template <class T>
  static void append(std::string& text, const std::vector<T>& list) {
    text += '[';
    bool is_first = true;
    for (const T& value : list) {
      if (!std::exchange(is_first, false)) text += ',';
      append(text, value);
    }
    text += ']';
  }

  template <class T>
  static void append(std::string& text, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      text += base::json_string(value);
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      append_number(text, std::chrono::duration<double>(value).count());
    } else if constexpr (std::is_same_v<T, double>) {
      if (std::isfinite(value)) {
        append_number(text, value);
      } else {
        text += "null";  // JSON has no NaN
      }
    } else if constexpr (base::HasFields<T>) {
      append_object(text, value);
    } else if constexpr (std::is_enum_v<T>) {
      text += base::json_string(to_string(value));
    } else {
      static_assert(std::integral<T>);
      append_number(text, value);
    }
  }

  template <class T>
  static void append_number(std::string& text, T value) {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }

  std::string& text_;
};

}  // namespace robustrun::supervisor
