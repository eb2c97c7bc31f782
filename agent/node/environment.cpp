#include "agent/node/environment.h"

#include <algorithm>
#include <utility>

#include "base/core/result.h"

namespace robustrun::agent {
namespace {

bool is_named(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

std::optional<std::string> Environment::get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (is_named(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

void Environment::set(std::string_view name, std::string_view value) {
  RR_ASSERT(!name.empty() && name.find('=') == std::string_view::npos);
  unset(name);
  entries_.emplace_back(name).append(1, '=').append(value);
}

void Environment::unset(std::string_view name) {
  std::erase_if(entries_, [name](const std::string& entry) { return is_named(entry, name); });
}

void overlay_environment(std::vector<std::string>& entries, const std::vector<std::string>& own) {
  Environment all(std::move(entries));
  for (const std::string& entry : own) {
    const auto equals = entry.find('=');
    if (equals != 0 && equals != std::string::npos) {
      all.set(std::string_view(entry).substr(0, equals),
              std::string_view(entry).substr(equals + 1));
    }
  }
  entries = std::move(all).take();
}

}  // namespace robustrun::agent
