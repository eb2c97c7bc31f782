#include "launcher/slurm/fields.h"

#include <cstdint>
#include <ctime>
#include <limits>
#include <string>

#include "base/core/text.h"

namespace robustrun::launcher {

// A word without "=" continues the value before it. The first value of a name counts: job names may
// hold anything.
SlurmFields::SlurmFields(std::string_view shown) {
  for (const std::string_view word : base::split(base::trim(shown), ' ')) {
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      fields_.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }
}

std::string_view SlurmFields::value(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::string_view{} : found->second;
}

std::optional<base::Nanos> SlurmFields::time(std::string_view name) const {
  constexpr std::size_t kWhole = std::string_view("2026-08-01T10:15:00").size();
  constexpr std::int64_t kSecondsMax = std::numeric_limits<std::uint32_t>::max();
  const std::string text(value(name));
  if (const auto seconds = base::parse_int<std::int64_t>(text)) {
    if (*seconds <= 0 || *seconds > kSecondsMax) return std::nullopt;
    return std::chrono::seconds(*seconds);
  }
  std::tm local{};
  if (text.size() != kWhole) return std::nullopt;  // it may have been cut off
  const char* const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &local);
  if (end == nullptr || *end != '\0') return std::nullopt;
  local.tm_isdst = -1;
  const std::time_t seconds = ::mktime(&local);
  if (seconds <= 0 || seconds > kSecondsMax) return std::nullopt;
  return std::chrono::seconds(seconds);
}

std::string_view record_of(std::string_view shown, std::string_view job) {
  for (const std::string_view line : base::split(shown, '\n')) {
    if (SlurmFields(line).value("JobId") == job) return line;
  }
  return shown;
}

bool is_running_job(std::string_view state) {
  return state == "RUNNING" || state == "SUSPENDED" || state == "SIGNALING" || state == "STOPPED" ||
         state == "RESIZING";
}

}  // namespace robustrun::launcher
