#pragma once
// The requests of `robustrun stop` and `robustrun attach` to a running supervisor, and the answers,
// as fields of control messages and back. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/console/output_hub.h"
#include "supervisor/control/json.h"

namespace robustrun::supervisor {

struct StopRequest {
  int signal = 15;  // neither SIGKILL nor SIGSTOP
  std::optional<base::Nanos> grace;  // nullopt: the run's --shutdown-timeout
};

[[nodiscard]] ControlFields to_fields(const StopRequest& request);
[[nodiscard]] base::Result<StopRequest> read_stop_request(const ControlFields& fields);

[[nodiscard]] ControlFields to_fields(const OutputQuestion& question);
[[nodiscard]] base::Result<OutputQuestion> read_output_question(const ControlFields& fields);

// The answer to an OutputQuestion: output, and how the run stands.
struct OutputNews {
  OutputAnswer output;
  std::string state;  // a JobState in words
  bool up = false;  // at some time, all workers of an attempt were running
  std::optional<std::int32_t> exit_code;  // nullopt until the output has ended
};
[[nodiscard]] ControlFields to_fields(const OutputNews& news);
// kCorrupt: the sizes of the answer's pieces (OutputAnswer) do not add up to its bytes, or a piece
// is of an unknown stream.
[[nodiscard]] base::Result<OutputNews> read_output_news(const ControlFields& fields);

}  // namespace robustrun::supervisor
