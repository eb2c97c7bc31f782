#pragma once
// Members of a control message as values. Everything in them is outside input.

#include <concepts>
#include <string>

#include "base/core/result.h"
#include "base/core/text.h"
#include "supervisor/control/json.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

// Empty when the member is missing.
inline std::string text_of(const ControlFields& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

// `value` stays as it is when the member is missing.
template <std::integral T>
base::Status read_number(const ControlFields& fields, const char* name, T& value) {
  const auto found = fields.find(name);
  if (found == fields.end()) return {};
  if (found->second.size() > kShownWordBytes) {  // parse_int's error would quote it
    return base::fail(base::Errc::kInvalidArgument,
                      std::string(name) + " is too long for a number");
  }
  value = RR_TRY(base::parse_int<T>(found->second));
  return {};
}

}  // namespace robustrun::supervisor
