#pragma once
// Converts structs with a field list (base/core/fields.h) to bytes and back, in protobuf's wire
// format.
//
// One codec serves control messages and journal records, so a field is declared once. The bytes are
// those of the proto3 schema docs/formats/robustrun.proto, but default values are written too, so
// that a reader can tell "0" from "not sent by an older version". Unknown numbers are skipped.
// Decoding never throws, never reads past the input, and limits nesting and the number of fields
// (kNestingMax, kFieldsMax). Integers and enums: varint (negative ones as 64-bit two's complement);
// double: fixed64; std::string: bytes; Nanos: varint; nested struct: length-delimited; vectors: one
// field for each element, never packed.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/core/clock.h"
#include "base/core/fields.h"
#include "base/core/result.h"

namespace robustrun::wire {

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}
  void put_varint(int number, std::uint64_t value);
  void put_double(int number, double value);
  void put_bytes(int number, std::string_view value);

  template <class T>
  void operator()(int number, const char* name, const T& value);

 private:
  std::string& out_;
};

// Fills the members of a struct from one message: a list gets all values of its number, any other
// member the last value.
class FieldReader {
 public:
  // Splits `bytes` into fields, which refer to `bytes`. kCorrupt: not a valid message; kLimit: too
  // large, too many fields, or nested too deep. `depth`: 0 for an outermost message.
  [[nodiscard]] base::Status parse(std::string_view bytes, int depth = 0);

  template <class T>
  void operator()(int number, const char* name, T& value);

  // The first error met while members were filled (a corrupt nested message).
  [[nodiscard]] const base::Status& status() const { return status_; }

 private:
  enum class Form : std::uint8_t { kVarint, kFixed64, kBytes };
  struct Field {
    int number = 0;
    Form form = Form::kVarint;
    std::uint64_t scalar = 0;  // varint or the bits of a fixed64
    std::string_view bytes;  // length-delimited
  };
  // As in protobuf, a number with another wire type than its member's counts as unknown.
  [[nodiscard]] const Field* last(int number, Form form) const;
  template <class T>
  static constexpr Form form_of();
  template <class T>
  void assign(const Field& field, T& value);

  std::vector<Field> fields_;
  base::Status status_;
  int depth_ = 0;
};

// Appends the bytes of `message` to `out`.
template <class T>
void encode_to(const T& message, std::string& out) {
  FieldWriter writer(out);
  const_cast<T&>(message).fields(writer);  // the field list is one template for both directions
}

template <class T>
std::string encode(const T& message) {
  std::string out;
  encode_to(message, out);
  return out;
}

template <class T>
base::Result<T> decode(std::string_view bytes, int depth = 0) {
  FieldReader reader;
  if (auto parsed = reader.parse(bytes, depth); !parsed) {
    return std::unexpected(std::move(parsed).error());
  }
  T message;
  message.fields(reader);
  if (!reader.status()) return std::unexpected(reader.status().error());
  return message;
}

namespace detail {
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
concept StrongId = requires { typename T::Representation; };
}  // namespace detail

template <class T>
void FieldWriter::operator()(int number, const char* name, const T& value) {
  if constexpr (detail::kIsVector<T>) {
    for (const auto& element : value) (*this)(number, name, element);
  } else if constexpr (detail::kIsOptional<T>) {
    if (value) (*this)(number, name, *value);
  } else if constexpr (std::same_as<T, std::string>) {
    put_bytes(number, value);
  } else if constexpr (std::same_as<T, double>) {
    put_double(number, value);
  } else if constexpr (std::same_as<T, base::Nanos>) {
    put_varint(number, static_cast<std::uint64_t>(value.count()));
  } else if constexpr (detail::StrongId<T>) {
    put_varint(number, value.value);
  } else if constexpr (base::HasFields<T>) {
    put_bytes(number, encode(value));
  } else if constexpr (std::is_enum_v<T>) {
    put_varint(number, static_cast<std::uint64_t>(value));
  } else {
    static_assert(std::integral<T>);
    put_varint(number, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
}

template <class T>
constexpr FieldReader::Form FieldReader::form_of() {
  if (std::same_as<T, double>) return Form::kFixed64;
  return std::same_as<T, std::string> || base::HasFields<T> ? Form::kBytes : Form::kVarint;
}

template <class T>
void FieldReader::assign(const Field& field, T& value) {
  if constexpr (std::same_as<T, std::string>) {
    value.assign(field.bytes);
  } else if constexpr (std::same_as<T, double>) {
    value = __builtin_bit_cast(double, field.scalar);
  } else if constexpr (std::same_as<T, base::Nanos>) {
    value = base::Nanos(static_cast<std::int64_t>(field.scalar));
  } else if constexpr (detail::StrongId<T>) {
    value.value = static_cast<typename T::Representation>(field.scalar);
  } else if constexpr (base::HasFields<T>) {
    auto nested = decode<T>(field.bytes, depth_ + 1);
    if (nested) {
      value = *std::move(nested);
    } else if (status_) {
      status_ = std::unexpected(std::move(nested).error());
    }
  } else if constexpr (std::same_as<T, bool>) {
    value = field.scalar != 0;
  } else {
    value = static_cast<T>(field.scalar);
  }
}

template <class T>
void FieldReader::operator()(int number, const char*, T& value) {
  if constexpr (detail::kIsVector<T>) {
    value.clear();
    for (const Field& field : fields_) {
      if (field.number != number || field.form != form_of<typename T::value_type>()) continue;
      assign(field, value.emplace_back());
    }
  } else if constexpr (detail::kIsOptional<T>) {
    if (const Field* field = last(number, form_of<typename T::value_type>())) {
      assign(*field, value.emplace());
    }
  } else {
    if (const Field* field = last(number, form_of<T>())) assign(*field, value);
  }
}

}  // namespace robustrun::wire
