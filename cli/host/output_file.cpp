#include "cli/host/output_file.h"

#include <fmt/format.h>

#include "base/io/fd.h"
#include "cli/text/terminal.h"

namespace robustrun::cli {

base::Status write_output(const std::string& path, const std::string& bytes) {
  constexpr unsigned kFileMode = 0644;
  if (const auto written = base::write_output(path, bytes, kFileMode); !written) {
    return base::fail(base::Errc::kInvalidArgument, written.error().what);
  }
  say(fmt::format("wrote {} ({} kB)", path, (bytes.size() + 999) / 1000));
  return {};
}

}  // namespace robustrun::cli
