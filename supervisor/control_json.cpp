#include "supervisor/control_json.h"

#include <nlohmann/json.hpp>

namespace robustrun::supervisor {

using nlohmann::json;

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

}  // namespace robustrun::supervisor
