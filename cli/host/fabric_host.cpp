// What joins the machines: files and scontrol, at the edge.

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/tool.h"
#include "cli/options/limits.h"
#include "cli/options/surroundings.h"
#include "topo/limits.h"

namespace robustrun::cli {
namespace {

class ThisFabric final : public Fabric {
 public:
  [[nodiscard]] base::Result<std::string> read_file(const std::string& path) const override {
    return base::read_file(path, topo::kTextBytesMax);
  }

  [[nodiscard]] base::Result<std::string> ask_slurm(const std::string& scontrol) const override {
    auto answer = RR_TRY(base::run_tool({scontrol, "show", "topology"}, kScontrolMax));
    if (!answer.status.success()) {
      const std::string_view said = base::trim(answer.err);
      return base::fail(base::Errc::kUnavailable,
                        fmt::format("scontrol show topology: {}",
                                    said.empty() ? base::describe(answer.status)
                                                 : base::printable(base::split(said, '\n')[0])));
    }
    if (answer.out.size() >= base::kToolOutputBytesMax) {
      return base::fail(base::Errc::kLimit,
                        fmt::format("scontrol show topology prints more than {} bytes; write it "
                                    "into a file and give that",
                                    base::kToolOutputBytesMax));
    }
    return std::move(answer.out);
  }
};

}  // namespace

const Fabric& this_fabric() {
  static const ThisFabric fabric;
  return fabric;
}

}  // namespace robustrun::cli
