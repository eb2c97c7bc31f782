#include "launcher/slurm/fields.h"

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

}  // namespace robustrun::launcher
