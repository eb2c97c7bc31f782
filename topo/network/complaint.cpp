#include "topo/network/complaint.h"

#include <fmt/format.h>

#include "base/core/text.h"

namespace robustrun::topo {

std::unexpected<base::Error> cannot_use(std::string_view source, std::uint32_t line,
                                        std::string_view what, base::Errc code) {
  const std::string shown = base::printable(source);
  if (line == 0) return base::fail(code, fmt::format("cannot use {}: {}", shown, what));
  return base::fail(code, fmt::format("cannot use {}, line {}: {}", shown, line, what));
}

std::unexpected<base::Error> bad(std::string_view text, std::string_view why) {
  return base::fail(base::Errc::kInvalidArgument,
                    fmt::format("cannot use '{}': {}", base::printable(text), why));
}

}  // namespace robustrun::topo
