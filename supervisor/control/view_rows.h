#pragma once
// The rows "use" and "evict" of the control server's table, for `robustrun top`, and their requests
// and answers as fields of control messages.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "supervisor/control/json.h"
#include "supervisor/control/server.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::supervisor {

// What a worker and all its descendants use.
struct RankUse {
  double processors = 0;  // average over a second before the answer; 1: one processor, all the time
  std::uint64_t memory_bytes = 0;  // resident; shared pages count for each process
  std::vector<tracer::GpuState> gpus;  // that they compute on; empty: none, or unknown
  template <class V>
  void fields(V& v) {
    v(1, "processors", processors);
    v(2, "memory_bytes", memory_bytes);
    v(3, "gpus", gpus);
  }
};

using UseAnswer = std::function<void(base::Result<RankUse>)>;
// `look` finds out what a rank uses, and calls its second argument once.
[[nodiscard]] ControlServer::Row use_row(std::function<void(base::Rank, UseAnswer)> look);
[[nodiscard]] ControlFields use_request(base::Rank rank);
// kCorrupt: an answer of another version.
[[nodiscard]] base::Result<RankUse> read_use(const ControlFields& answer);

// `evict` gets the node's name. Its error is shown to the user.
[[nodiscard]] ControlServer::Row evict_row(std::function<base::Status(const std::string&)> evict);
[[nodiscard]] ControlFields evict_request(const std::string& node);

}  // namespace robustrun::supervisor
