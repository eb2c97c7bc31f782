#include "supervisor/control/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/core/fields.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::supervisor {

using nlohmann::json;
namespace {

// Beyond this a number of seconds is no duration of ours.
constexpr double kSecondsMax = 9e9;
// No enum of a status has more values.
constexpr std::uint8_t kEnumValuesMax = 32;

template <class T>
constexpr bool kIsTime = std::is_same_v<T, base::Nanos>;
template <class T>
constexpr bool kIsTime<std::optional<T>> = kIsTime<T>;

// A struct's members from a JSON object, by its field list: the reverse of
// supervisor/core/types/json_writer.h.
class JsonReader {
 public:
  explicit JsonReader(const json& object) : object_(object) {}

  template <class T>
  void operator()(int, const char* name, T& value) {
    const auto found = object_.find(kIsTime<T> ? std::string(name) + "_s" : std::string(name));
    if (found != object_.end()) read(*found, value);
  }

 private:
  template <class T>
  static void read(const json& member, std::optional<T>& value) {
    if (!member.is_null()) read(member, value.emplace());
  }
  template <class T>
  static void read(const json& member, std::vector<T>& list) {
    if (!member.is_array()) return;
    list.clear();
    for (const json& each : member) read(each, list.emplace_back());
  }
  template <class T>
  static void read(const json& member, T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (member.is_string()) value = member.get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (member.is_boolean()) value = member.get<bool>();
    } else if constexpr (kIsTime<T>) {
      const double seconds = member.is_number() ? member.get<double>() : 0;
      if (std::abs(seconds) < kSecondsMax) {
        value = base::Nanos(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
      }
    } else if constexpr (std::is_floating_point_v<T>) {
      if (member.is_number()) value = member.get<double>();
    } else if constexpr (base::HasFields<T>) {
      JsonReader reader(member);
      if (member.is_object()) value.fields(reader);
    } else if constexpr (std::is_enum_v<T>) {
      if (member.is_string()) read_word(member.get<std::string>(), value);
    } else if (member.is_number_unsigned()) {
      const auto number = member.get<std::uint64_t>();
      if (std::in_range<T>(number)) value = static_cast<T>(number);
    } else if (member.is_number_integer()) {
      const auto number = member.get<std::int64_t>();
      if (std::in_range<T>(number)) value = static_cast<T>(number);
    }
  }

  // The value whose to_string() is `word`; an unknown word changes nothing.
  template <class Enum>
  static void read_word(const std::string& word, Enum& value) {
    for (std::uint8_t i = 0; i < kEnumValuesMax; ++i) {
      if (word != to_string(static_cast<Enum>(i))) continue;
      value = static_cast<Enum>(i);
      return;
    }
  }

  const json& object_;
};

// The object `name` of an answer.
template <class T>
base::Result<T> read_object(std::string_view text, const char* name) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) {
    return base::fail(base::Errc::kCorrupt, "the run's supervisor answers nonsense");
  }
  const auto found = document.find(name);
  if (found == document.end() || !found->is_object()) {
    const auto said = document.find("message");
    return base::fail(base::Errc::kInvalidArgument, said != document.end() && said->is_string()
                                                        ? said->get<std::string>()
                                                        : "the run's supervisor answers nonsense");
  }
  T value;
  JsonReader reader(*found);
  value.fields(reader);
  return value;
}

}  // namespace

base::Result<ControlFields> read_control_message(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) {
    return base::fail(base::Errc::kCorrupt, "a message is one JSON object");
  }
  ControlFields fields;
  for (const auto& [name, value] : document.items()) {
    if (value.is_string()) fields[name] = value.get<std::string>();
  }
  return fields;
}

std::string write_control_message(const ControlFields& fields) {
  // error_handler replace: nothing that a string may hold can make this throw.
  return json(fields).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string control_refusal(std::string_view what) {
  return write_control_message({{"type", "error"}, {"message", std::string(what)}});
}

std::string bytes_to_member(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xC0U | code >> 6U);
      text += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  return text;
}

base::Result<std::string> member_to_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
      continue;
    }
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if ((lead != 0xC2 && lead != 0xC3) || (next & 0xC0U) != 0x80U) {
      return base::fail(base::Errc::kCorrupt, "these are no bytes");
    }
    bytes += static_cast<char>((lead & 0x03U) << 6U | (next & 0x3FU));
    ++i;
  }
  return bytes;
}

std::string write_status_answer(const RunStatus& status) {
  return R"({"type":"status","status":)" + status_json(status) + "}";
}

base::Result<RunStatus> read_status_answer(std::string_view text) {
  return read_object<RunStatus>(text, "status");
}

std::string write_changes_answer(const StatusNews& news) {
  return R"({"type":"changes","changes":)" + JsonWriter::sparse_object(news) + "}";
}

base::Result<StatusNews> read_changes_answer(std::string_view text) {
  return read_object<StatusNews>(text, "changes");
}

}  // namespace robustrun::supervisor
