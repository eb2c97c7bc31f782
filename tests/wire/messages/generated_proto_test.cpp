// docs/formats/robustrun.proto, written from the field lists of the messages: names, types, numbers
// and kinds are the code's, comments the file's own, which are kept by the place they stand at.
//
// The test writes what the file must be and compares. RR_UPDATE_GOLDEN=1 stores it.

#include <doctest/doctest.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "tests/paths.h"
#include "wire/messages/field_codec.h"
#include "wire/messages/messages.h"
#include "wire/tls/credential.h"

namespace robustrun::generated_proto_test {
namespace {

constexpr std::size_t kColumns = 100;
constexpr int kEnumeratorsMax = 32;

// Enumerators of one scope in the schema, which are no scope of their own in the code, need labels
// that tell them apart.
const std::map<std::string, std::string> kLabels = {
    {"ProofKind::kNone", "WITHOUT"},
    {"FaultKind::kStop", "PAUSE"},
    {"ReachFault::kRefused", "CONNECTION_REFUSED"},
    {"ReachFault::kTimeout", "TIMED_OUT"},
    {"ReachFault::kOther", "OTHERWISE"},
    {"StandbyMode::kOff", "NO_STANDBYS"},
    {"StandbyMode::kAll", "ON_ALL_NODES"},
    {"StandbyMode::kSpares", "ON_SPARE_NODES"},
    {"PrefetchMode::kOff", "NO_PREFETCH"},
    {"PrefetchMode::kAuto", "FROM_SHARED_STORAGE"},
    {"PrefetchMode::kOn", "FROM_ANYWHERE"},
    {"ContainerRuntime::kAuto", "AUTO_RUNTIME"},
    {"ContainerRuntime::kNone", "NO_RUNTIME"},
    {"ScriptEnd::kNotSeen", "SCRIPT_END_NOT_SEEN"},
    {"ScriptEnd::kReturned", "SCRIPT_END_RETURNED"},
    {"ScriptEnd::kFinished", "SCRIPT_END_FINISHED"},
};

// The compiler's name for an argument of the function whose own name it is.
std::string argument_of(std::string_view function) {
  const std::size_t begin = function.rfind("= ") + 2;
  return std::string(function.substr(begin, function.rfind(']') - begin));
}
template <class T>
constexpr const char* named_with_type() {
  return __PRETTY_FUNCTION__;
}
template <auto kValue>
constexpr const char* named_with_value() {
  return __PRETTY_FUNCTION__;
}

// "WorkerExited"; of StageTimeOf<…> "StageTime".
template <class T>
std::string name_of() {
  std::string name = argument_of(named_with_type<T>());
  if (const std::size_t of = name.find("Of<"); of != name.npos) name.resize(of);
  return name.substr(name.rfind("::") == name.npos ? 0 : name.rfind("::") + 2);
}

// An enum that belongs to a class: its labels are a message's own.
template <class T>
bool is_nested() {
  const std::string name = argument_of(named_with_type<T>());
  const std::string scope = name.substr(0, name.rfind("::"));
  return std::isupper(static_cast<unsigned char>(scope.substr(scope.rfind(':') + 1)[0])) != 0;
}

std::string label_of(const std::string& type, const std::string& enumerator) {
  if (const auto found = kLabels.find(type + "::" + enumerator); found != kLabels.end()) {
    return found->second;
  }
  std::string label;
  for (const char c : enumerator.substr(1)) {  // "kFileAndConsole"
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !label.empty()) label += '_';
    label += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return label;
}

struct Comment {
  std::string above;  // whole lines, without their indentation
  std::string behind;  // "// numeric"
};

// The comments of a schema, by "Message", "Message.7" and "Enum.LABEL".
class Comments {
 public:
  explicit Comments(const std::string& schema) {
    std::vector<std::string> scopes;
    std::string above;
    const std::regex opening(R"(^(?:message|enum) (\w+) \{(\})?$)");
    const std::regex field(R"(^(?:\w+ )*?(\w+) = (\d+);\s*(//.*)?$)");
    for (std::string_view rest = schema; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string line(base::trim(rest.substr(0, end)));
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      std::smatch match;
      if (line.starts_with("//")) {
        above += line + "\n";
      } else if (std::regex_match(line, match, opening)) {
        const std::string scope = (scopes.empty() ? "" : scopes.back() + ".") + match.str(1);
        found_[scope].above = std::exchange(above, {});
        if (!match[2].matched) scopes.push_back(scope);
      } else if (line == "}") {
        scopes.pop_back();
      } else if (!scopes.empty() && std::regex_match(line, match, field)) {
        const bool is_label = std::isupper(static_cast<unsigned char>(match.str(1)[0])) != 0;
        found_[scopes.back() + "." + match.str(is_label ? 1 : 2)] = {std::exchange(above, {}),
                                                                     match.str(3)};
      } else {
        above.clear();
      }
    }
  }
  [[nodiscard]] Comment at(const std::string& place) const {
    const auto found = found_.find(place);
    return found == found_.end() ? Comment{} : found->second;
  }

 private:
  std::map<std::string, Comment> found_;
};

class Schema {
 public:
  explicit Schema(const std::string& before) : comments_(before) {
    const std::size_t head = before.find(";\n", before.find("option "));
    text_ = before.substr(0, head == before.npos ? 0 : head + 2);
  }

  template <class T>
  void message(std::optional<std::size_t> kind) {
    const std::string name = name_of<T>();
    if (!done_.insert(name).second) return;
    std::string body;
    Members members{*this, name, body};
    T value;
    value.fields(members);
    const Comment comment = comments_.at(name);
    text_ += "\n" + (kind ? with_kind(comment.above, *kind) : comment.above) + "message " + name +
             " {" + (body.empty() ? "" : "\n") + body + "}\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // Visits a field list.
  struct Members {
    Schema& schema;
    std::string message;
    std::string& body;

    template <class T>
    void operator()(int number, const char* name, T&) {
      std::string enums;
      const std::string type = schema.type_of<T>(message, enums);
      const std::string field = type + " " + name + " = " + std::to_string(number) + ";";
      body += enums + with_comment(schema.comments_.at(message + "." + std::to_string(number)),
                                   field, "  ");
    }
  };

  template <class T>
  std::string type_of(const std::string& message, std::string& enums) {
    if constexpr (wire::detail::kIsVector<T>) {
      return "repeated " + type_of<typename T::value_type>(message, enums);
    } else if constexpr (wire::detail::kIsOptional<T>) {
      return "optional " + type_of<typename T::value_type>(message, enums);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "bytes";
    } else if constexpr (std::is_same_v<T, base::Nanos>) {
      return "int64";
    } else if constexpr (wire::detail::StrongId<T>) {
      return type_of<typename T::Representation>(message, enums);
    } else if constexpr (base::HasFields<T>) {
      this->message<T>(std::nullopt);
      return name_of<T>();
    } else if constexpr (std::is_enum_v<T>) {
      return enum_of<T>(message, enums);
    } else if constexpr (std::is_same_v<T, bool>) {
      return "bool";
    } else if constexpr (std::is_floating_point_v<T>) {
      return "double";
    } else {
      return std::string(std::is_unsigned_v<T> ? "u" : "") + "int" + (sizeof(T) > 4 ? "64" : "32");
    }
  }

  template <class T>
  std::string enum_of(const std::string& message, std::string& enums) {
    const std::string name = name_of<T>();
    const std::string scope = is_nested<T>() ? message + "." + name : name;
    const std::string indent = is_nested<T>() ? "  " : "";
    std::string body;
    bool has_zero = false;
    [&]<int... kNumbers>(std::integer_sequence<int, kNumbers...>) {
      (
          [&] {
            std::string enumerator = argument_of(named_with_value<static_cast<T>(kNumbers)>());
            if (enumerator.starts_with('(')) return;  // none of this number
            enumerator = enumerator.substr(enumerator.rfind(':') + 1);
            has_zero |= kNumbers == 0;
            const std::string label = label_of(name, enumerator);
            body += with_comment(comments_.at(scope + "." + label),
                                 label + " = " + std::to_string(kNumbers) + ";", indent + "  ");
          }(),
          ...);
    }(std::make_integer_sequence<int, kEnumeratorsMax>());
    if (!has_zero) return "uint32";  // proto3 has no such enum
    if (!done_.insert(scope).second) return name;
    const std::string whole =
        with_comment({comments_.at(scope).above, ""}, "enum " + name + " {", indent) + body +
        indent + "}\n";
    (is_nested<T>() ? enums : text_) += is_nested<T>() ? whole : "\n" + whole;
    return name;
  }

  static std::string with_comment(const Comment& comment, const std::string& line,
                                  const std::string& indent) {
    std::string out;
    for (std::string_view rest = comment.above; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      out += indent + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(end + 1);
    }
    if (comment.behind.empty()) return out + indent + line + "\n";
    const std::string whole = indent + line + "  " + comment.behind;
    const bool fits = whole.size() <= kColumns;
    return out + (fits ? whole : indent + comment.behind + "\n" + indent + line) + "\n";
  }

  static std::string with_kind(const std::string& comment, std::size_t kind) {
    const std::string words = "// Kind " + std::to_string(kind);
    static const std::regex kFirst(R"(^// Kind \d+)");
    if (!std::regex_search(comment, kFirst)) return words + ".\n" + comment;
    return std::regex_replace(comment, kFirst, words, std::regex_constants::format_first_only);
  }

  Comments comments_;
  std::set<std::string> done_;
  std::string text_;
};

std::string schema_of(const std::string& before) {
  Schema schema(before);
  [&]<std::size_t... kKinds>(std::index_sequence<kKinds...>) {
    (schema.message<std::variant_alternative_t<kKinds, wire::Message>>(kKinds), ...);
  }(std::make_index_sequence<std::variant_size_v<wire::Message>>());
  schema.message<wire::Credential>(std::nullopt);
  return schema.text();
}

}  // namespace

TEST_CASE("robustrun.proto describes the messages as the code does") {
  const std::string path = in_source("docs/formats/robustrun.proto");
  const std::string before = base::read_file(path, 1 << 20).value();
  const std::string now = schema_of(before);
  CHECK(schema_of(now) == now);  // comments stay where they are
  if (std::getenv("RR_UPDATE_GOLDEN") != nullptr && now != before) {
    REQUIRE(base::write_file_atomically(path, now, 0644));
    return;
  }
  CHECK_MESSAGE(now == before,
                "run RR_UPDATE_GOLDEN=1 build/bin/test_wire -tc='robustrun.proto*', "
                "and write comments for what is new");
}

}  // namespace robustrun::generated_proto_test
